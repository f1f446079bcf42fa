//! Where things stand on a screen of any size.

use ratatui::layout::{Rect, Size};

/// From here on, two panes stand side by side.
const WIDE: u16 = 60;
const HIGH: u16 = 8;

/// The parts of a screen. One that has no room is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) header: Rect,
    /// Tree or history, beside the main pane; empty if only one pane has room.
    pub(crate) side: Rect,
    pub(crate) main: Rect,
    pub(crate) status: Rect,
    pub(crate) input: Rect,
}

impl Areas {
    pub(crate) fn of(size: Size) -> Self {
        let Size { width, height } = size;
        // The line that is typed is the last to go, then the panes.
        let input = height.min(1);
        let header = u16::from(height >= 3);
        let status = u16::from(height >= 6);
        let left = height - input - header - status;
        let row = |y, rows| Rect::new(0, y, width, rows);
        let panes = row(header, left);
        let mut areas = Self {
            header: row(0, header),
            side: Rect::default(),
            main: panes,
            status: row(header + left, status),
            input: row(height - input, input),
        };
        if width >= WIDE && height >= HIGH {
            let side = (width / 3).clamp(24, 48);
            areas.side = Rect {
                width: side,
                ..panes
            };
            // One column between them.
            areas.main = Rect {
                x: side + 1,
                width: width - side - 1,
                ..panes
            };
        }
        areas
    }
}

/// What of a pane is below its title.
pub(crate) fn below_title(pane: Rect) -> Rect {
    if pane.height < 2 {
        return pane;
    }
    Rect {
        y: pane.y + 1,
        height: pane.height - 1,
        ..pane
    }
}
