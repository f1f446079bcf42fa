//! One measured row, as a bench prints it and as people read it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// What the `row` key of every row says.
pub(super) const FORMAT: &str = "svit-bench@1";

/// A measured row; `bench.rs` says what each field means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) row: String,
    pub(super) name: String,
    pub(super) unit: String,
    pub(super) ours: f64,
    pub(super) other: Option<f64>,
    pub(super) ratio: Option<f64>,
    pub(super) target: String,
    pub(super) ok: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
}

/// A printed line: a row, a remark (None), or a mistake.
pub(super) fn read(line: &str) -> Result<Option<Row>, String> {
    if !line.starts_with('{') {
        return Ok(None);
    }
    let row: Row = serde_json::from_str(line).map_err(|error| error.to_string())?;
    if row.row != FORMAT {
        return Err(format!("`row` is `{}`, not `{FORMAT}`", row.row));
    }
    Ok(Some(row))
}

/// The rows in columns, and their notes below.
pub(super) fn table(rows: &[Row]) -> String {
    let heads = ["name", "ours", "other", "unit", "ratio", "target", ""].map(str::to_owned);
    let mut lines = vec![heads];
    for row in rows {
        let judged = row.ok.map_or("", |ok| if ok { "ok" } else { "SHORT" });
        lines.push([
            row.name.clone(),
            figure(row.ours),
            row.other.map_or("-".to_owned(), figure),
            row.unit.clone(),
            row.ratio.map_or("-".to_owned(), figure),
            row.target.clone(),
            judged.to_owned(),
        ]);
    }
    let width = |column: usize| {
        lines
            .iter()
            .map(|line| line[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut printed = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            // Writing to a String cannot fail.
            let _ = match column {
                1 | 2 | 4 => write!(printed, "{cell:>width$}  "),
                _ => write!(printed, "{cell:<width$}  "),
            };
        }
        text.push_str(printed.trim_end());
        text.push('\n');
    }
    for row in rows {
        if let Some(note) = &row.note {
            let _ = writeln!(text, "{}: {note}", row.name);
        }
    }
    text
}

/// Three significant digits or whole numbers, whichever is longer.
fn figure(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, table};

    const GET: &str = r#"{"row":"svit-bench@1","name":"value-get","unit":"ns","ours":41.23,"other":45.8,"ratio":0.9,"target":"<= 1.5","ok":true}"#;

    #[test]
    fn rows_become_a_table() {
        let memory = r#"{"row":"svit-bench@1","name":"value-memory","unit":"bytes","ours":186,"other":95,"ratio":1.96,"target":"<= 1.0","ok":false,"note":"1,000,000 entries"}"#;
        let alone = r#"{"row":"svit-bench@1","name":"peak","unit":"MiB","ours":0.5,"other":null,"ratio":null,"target":"printed","ok":null}"#;
        let rows: Vec<_> = [GET, memory, alone]
            .iter()
            .map(|line| read(line).unwrap().unwrap())
            .collect();
        let expected = "\
name           ours  other  unit   ratio  target
value-get      41.2   45.8  ns     0.900  <= 1.5   ok
value-memory    186   95.0  bytes   1.96  <= 1.0   SHORT
peak          0.500      -  MiB        -  printed
value-memory: 1,000,000 entries
";
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn remarks_pass_and_mistakes_do_not() {
        assert_eq!(read("warming up"), Ok(None));
        assert_eq!(read(""), Ok(None));
        for bad in [
            "{".to_owned(),
            "{}".to_owned(),
            GET.replace("ratio", "ration"),
            GET.replace("svit-bench@1", "svit-bench@2"),
            GET.replace("\"ok\":true", "\"ok\":true,\"extra\":1"),
            GET.replace("41.23", "NaN"),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
    }
}
