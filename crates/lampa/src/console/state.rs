//! The console as a value: what is shown, and how events change it. Nothing here reads a process,
//! draws or waits; what is to be done comes back as effects.

use ratatui::layout::Size;

use super::history::{History, Version};
use super::input::Input;
use super::key::Key;
use super::keys;
use super::layout::{Areas, below_title};
use super::news::News;
use super::talk::{Talk, Who};
use super::tree::{Tree, Wanted};
use super::value::{Look, ValuePane, What};
use crate::command::Command;
use crate::excerpt::Excerpt;
use crate::line::{self, Line};
use crate::place::Child;

/// Which pane the keys go to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    Talk,
    Tree,
    Value,
    History,
}

/// Something that changes the state.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Key(Key),
    Paste(String),
    Resize(Size),
    News(News),
    /// Names below a path of the version `at`.
    Listed {
        at: Option<u64>,
        wanted: Wanted,
        children: Vec<Child>,
        next: Option<String>,
    },
    /// The piece that was asked for under this number.
    Looked {
        number: u64,
        excerpt: Excerpt,
    },
    /// Versions, newest first.
    Versions {
        before: Option<u64>,
        versions: Vec<Version>,
    },
    /// A command has ended.
    Ran(String),
    /// Something failed.
    Refused(String),
    /// Nobody is there any more.
    Gone,
}

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    List { at: Option<u64>, wanted: Wanted },
    Look { at: Option<u64>, look: Look },
    Versions { before: Option<u64> },
    Send(String),
    Run(Command),
    CancelTurn,
    Redraw,
    Quit,
}

/// All of what is shown.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) size: Size,
    /// Whether colors may be used.
    pub(crate) has_color: bool,
    pub(crate) title: String,
    /// The newest version.
    pub(crate) version: u64,
    /// The earlier version that the tree and the value are shown at.
    pub(crate) at: Option<u64>,
    /// What would have to be set for a model to answer.
    pub(crate) missing_key: Option<&'static str>,
    pub(crate) focus: Focus,
    /// Whether the history stands beside the main pane, and not the tree.
    pub(crate) is_history_beside: bool,
    pub(crate) talk: Talk,
    pub(crate) input: Input,
    pub(crate) tree: Tree,
    pub(crate) value: ValuePane,
    pub(crate) history: History,
}

impl State {
    pub(crate) fn new(
        title: impl Into<String>,
        version: u64,
        missing_key: Option<&'static str>,
    ) -> Self {
        Self {
            size: Size::new(80, 24),
            has_color: false,
            title: title.into(),
            version,
            at: None,
            missing_key,
            focus: Focus::Talk,
            is_history_beside: false,
            talk: Talk::default(),
            input: Input::default(),
            tree: Tree::default(),
            value: ValuePane::default(),
            history: History::default(),
        }
    }

    /// What is to be read at the start, and whenever news were lost.
    pub(crate) fn read_all(&mut self) -> Vec<Effect> {
        let mut effects = self.list_again(|_| true);
        effects.push(Effect::Versions { before: None });
        effects.push(self.look_again());
        effects
    }

    /// Takes an event. Gives back what is to be done.
    pub(crate) fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) => return keys::pressed(self, key),
            Event::Paste(text) => {
                self.focus_on(Focus::Talk);
                self.input
                    .insert(&text.replace("\r\n", "\n").replace('\r', "\n"));
            }
            Event::Resize(size) => self.size = size,
            Event::News(news) => return self.happened(news),
            Event::Listed {
                at,
                wanted,
                children,
                next,
            } => {
                if at == self.at {
                    self.tree
                        .listed(&wanted.path, wanted.after.as_deref(), children, next);
                }
            }
            Event::Looked { number, excerpt } => {
                let size = self.value_size();
                self.value
                    .looked(number, excerpt, size.width.into(), size.height.into());
            }
            Event::Versions { before, versions } => self.history.add(before, versions),
            Event::Ran(text) => self.say(Who::Note, &text),
            Event::Refused(text) => self.say(Who::Refusal, &text),
            Event::Gone => return vec![Effect::Quit],
        }
        Vec::new()
    }

    fn happened(&mut self, news: News) -> Vec<Effect> {
        match news {
            News::Committed { version, changed } => {
                self.version = version;
                let mut effects = vec![Effect::Versions { before: None }];
                if self.at.is_none() {
                    let touches = |path: &svit::Path| {
                        changed
                            .iter()
                            .any(|at| at.starts_with(path) || path.starts_with(at))
                    };
                    effects.extend(self.list_again(touches));
                    if matches!(&self.value.what, What::Path(path) if touches(path)) {
                        effects.push(self.look_again());
                    }
                }
                return effects;
            }
            News::Started => self.talk.is_busy = true,
            News::Piece(text) => self.talk.piece(&text),
            News::Step { text, calls } => {
                self.talk.drop_partial();
                if !text.is_empty() {
                    self.talk.say(Who::Model, &text);
                }
                for call in calls {
                    self.talk.say(Who::Tool, &call);
                }
            }
            News::Answer(text) => {
                self.talk.drop_partial();
                self.talk.is_busy = false;
                self.talk.say(Who::Model, &text);
            }
            News::Ended => self.talk.is_busy = false,
            News::Failed(text) => {
                self.talk.drop_partial();
                self.say(Who::Refusal, &text);
            }
            News::Lost => return self.read_all(),
        }
        Vec::new()
    }

    /// Says something below everything else, where it is seen.
    pub(crate) fn say(&mut self, who: Who, text: &str) {
        self.talk.say(who, text);
        self.talk.scroll = 0;
    }

    /// Does what was typed.
    pub(crate) fn entered(&mut self) -> Vec<Effect> {
        let text = self.input.take();
        match line::parse(&text) {
            Err(failure) => {
                self.say(Who::You, &text);
                self.say(Who::Refusal, &failure.sentence());
                Vec::new()
            }
            Ok(line) => self.do_line(&text, line),
        }
    }

    fn do_line(&mut self, text: &str, line: Line) -> Vec<Effect> {
        match line {
            Line::Nothing => Vec::new(),
            Line::Quit => vec![Effect::Quit],
            Line::Help => {
                self.say(Who::Note, keys::HELP);
                self.say(Who::Note, line::HELP);
                Vec::new()
            }
            Line::Message(message) => {
                self.say(Who::You, &message);
                if let Some(variable) = self.missing_key {
                    let failure = crate::failure::Failure::NoModel { variable };
                    self.say(Who::Refusal, &failure.to_string());
                    return Vec::new();
                }
                vec![Effect::Send(message)]
            }
            // What has a pane of its own is shown there.
            Line::Command(Command::Show { path, at }) => {
                self.focus_on(Focus::Value);
                let mut effects = match at {
                    Some(version) => self.travel(Some(version)),
                    None => Vec::new(),
                };
                effects.push(self.look(What::Path(path)));
                effects
            }
            Line::Command(Command::Diff { from, to }) => {
                self.focus_on(Focus::Value);
                vec![self.look(What::Diff { from, to })]
            }
            Line::Command(Command::Log { path: None }) => {
                self.focus_on(Focus::History);
                Vec::new()
            }
            Line::Command(command) => {
                self.say(Who::You, text);
                vec![Effect::Run(command)]
            }
        }
    }

    pub(crate) fn focus_on(&mut self, focus: Focus) {
        self.focus = focus;
        match focus {
            Focus::Tree => self.is_history_beside = false,
            Focus::History => self.is_history_beside = true,
            Focus::Talk | Focus::Value => {}
        }
    }

    /// Shows the tree and the value as they were at a version, or as they are.
    pub(crate) fn travel(&mut self, at: Option<u64>) -> Vec<Effect> {
        let at = at.filter(|version| *version < self.version);
        if at == self.at {
            return Vec::new();
        }
        self.at = at;
        let mut effects = self.list_again(|_| true);
        if matches!(self.value.what, What::Path(_)) {
            effects.push(self.look_again());
        }
        effects
    }

    pub(crate) fn list(&self, wanted: Wanted) -> Effect {
        Effect::List {
            at: self.at,
            wanted,
        }
    }

    fn list_again(&self, is_stale: impl Fn(&svit::Path) -> bool) -> Vec<Effect> {
        self.tree
            .listings(is_stale)
            .into_iter()
            .map(|wanted| self.list(wanted))
            .collect()
    }

    pub(crate) fn look(&mut self, what: What) -> Effect {
        Effect::Look {
            at: self.at,
            look: self.value.look(what),
        }
    }

    pub(crate) fn look_again(&mut self) -> Effect {
        Effect::Look {
            at: self.at,
            look: self.value.again(),
        }
    }

    pub(crate) fn areas(&self) -> Areas {
        Areas::of(self.size)
    }

    /// The room that a value has, whether or not it is seen now.
    pub(crate) fn value_size(&self) -> Size {
        below_title(self.areas().main).as_size()
    }

    /// Rows of the tree or the history that are seen.
    pub(crate) fn side_rows(&self) -> usize {
        let areas = self.areas();
        let pane = if areas.side.is_empty() {
            areas.main
        } else {
            areas.side
        };
        below_title(pane).height.into()
    }
}

#[cfg(test)]
pub(crate) mod tests;
