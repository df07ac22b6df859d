//! Which layouts the dates and times of the input are written in.

use auto_lang::layout::{encode, layouts};
use auto_rt::kernels::date::Moment;
use auto_rt::kernels::layout;

/// Dates by their layouts; those that read the same text in another way are alternatives.
const DATES: [&str; 46] = [
    "yyyy-M-d",
    "yyyy/M/d",
    "yyyy.M.d",
    "yyyyMMdd",
    "M/d/yyyy",
    "d/M/yyyy",
    "M-d-yyyy",
    "d-M-yyyy",
    "M.d.yyyy",
    "d.M.yyyy",
    "M/d/yy",
    "d/M/yy",
    "M-d-yy",
    "d-M-yy",
    "d.M.yy",
    "MMddyyyy",
    "ddMMyyyy",
    "d MMM yyyy",
    "d MMMM yyyy",
    "d-MMM-yyyy",
    "d-MMM-yy",
    "d. MMMM yyyy",
    "MMM d yyyy",
    "MMM d, yyyy",
    "MMMM d yyyy",
    "MMMM d, yyyy",
    "MMMM ddd, yyyy",
    "ddd MMMM yyyy",
    "EEE, d MMM yyyy",
    "EEEE, MMMM d, yyyy",
    "EEEE, d MMMM yyyy",
    "EEEE, MMM d, yyyy",
    "MMM yyyy",
    "MMMM yyyy",
    "yyyy-M",
    "yyyy D",
    "yyyy",
    "d MMM",
    "d MMMM",
    "MMM d",
    "MMMM d",
    "M/d",
    "d/M",
    "d-MMM",
    "EEEE",
    "EEE",
];

/// Times of day.
const TIMES: [&str; 12] =
    ["H:mm", "H:mm:ss", "h:mm a", "h:mma", "h:mm:ss a", "ha", "h a", "Hmm", "H.mm", "H:mm:ss.SSS", "H", "mm:ss"];

/// What stands between a date and a time.
const BETWEEN: [&str; 4] = [" ", "'T'", ", ", " 'at' "];

/// Every layout, encoded.
pub struct Readers {
    all: Vec<(String, Vec<u8>)>,
}

/// Which layouts read some texts, what naming them costs, and what they read.
pub type Reading = (String, u32, Vec<Option<Moment>>);

impl Readers {
    /// All of them.
    pub fn new() -> Readers {
        let both = DATES.iter().flat_map(|date| {
            let times = TIMES.iter().take(6);
            times.flat_map(move |time| BETWEEN.iter().map(move |between| format!("{date}{between}{time}")))
        });
        let zoned =
            ["yyyy-MM-dd'T'HH:mm:ssZ", "yyyy-MM-dd'T'HH:mm:ss.SSSZ", "yyyy-MM-dd HH:mm:ss.SSS"].map(str::to_owned);
        let names = DATES.iter().chain(&TIMES).map(|name| (*name).to_owned()).chain(zoned).chain(both);
        let encode = |name: String| layouts(&name).ok().map(|read| (name, encode(&read)));
        Readers { all: names.filter_map(encode).collect() }
    }

    /// The ways to read most of the texts.
    pub fn read(&self, texts: &[Option<&str>]) -> Vec<Reading> {
        let rows = texts.iter().flatten().count();
        let plausible = |text: &str| {
            (1..=40).contains(&text.len()) && (text.bytes().any(|byte| byte.is_ascii_digit()) || text.ends_with("day"))
        };
        if rows < 2 || texts.iter().flatten().filter(|text| plausible(text)).count() * 2 < rows {
            return Vec::new();
        }
        let colon = texts.iter().flatten().any(|text| text.contains(':'));
        let mut columns: Vec<(usize, Vec<Option<Moment>>, usize)> = Vec::new();
        for (index, (name, encoded)) in self.all.iter().enumerate() {
            if name.contains(':') && !colon {
                continue;
            }
            let column: Vec<Option<Moment>> =
                texts.iter().map(|text| text.and_then(|text| layout::read(text, encoded))).collect();
            let count = column.iter().flatten().count();
            if count > 0 {
                columns.push((index, column, count));
            }
        }
        // One layout for all, first; two if they read the same text in another way.
        let whole: Vec<Reading> = columns
            .iter()
            .filter(|(_, _, count)| *count == rows)
            .map(|(index, column, _)| (self.all[*index].0.clone(), 4 + *index as u32 / 24, column.clone()))
            .take(3)
            .collect();
        if !whole.is_empty() {
            return whole;
        }
        self.several(&columns, rows).into_iter().collect()
    }

    /// Texts of several layouts: with those that were seen go those that were not, as long
    /// as they read nothing that was seen in another way.
    fn several(&self, columns: &[(usize, Vec<Option<Moment>>, usize)], rows: usize) -> Option<Reading> {
        let mut order: Vec<&(usize, Vec<Option<Moment>>, usize)> = columns.iter().collect();
        order.sort_by_key(|(index, _, count)| (std::cmp::Reverse(*count), *index));
        let mut names: Vec<usize> = Vec::new();
        let mut moments: Vec<Option<Moment>> = vec![None; columns.first()?.1.len()];
        for (index, column, _) in order {
            let both = || moments.iter().zip(column);
            let new = both().any(|(known, own)| known.is_none() && own.is_some());
            let agrees = both().all(|(known, own)| known.is_none() || own.is_none() || known == own);
            if new && agrees {
                names.push(*index);
                moments.iter_mut().zip(column).for_each(|(known, own)| *known = known.or(*own));
            }
        }
        if moments.iter().flatten().count() * 10 < rows * 8 || names.len() > 5 {
            return None;
        }
        let texts: Vec<&str> = names.iter().map(|&index| self.all[index].0.as_str()).collect();
        // Where days stand before the names of months, they do before their numbers.
        let starts = |begin: &str| texts.iter().any(|name| name.starts_with(begin));
        let day_first = starts("d") && !starts("MMM");
        let other = |name: &&str| {
            let order = if day_first { ["d/M", "d-M-", "ddMM"] } else { ["M/d", "M-d-", "MMdd"] };
            let starts = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
            let ordered = name.contains("MMM") || starts(&order) || starts(&["yyyy", "d.M."]);
            ordered && name.contains("yyyy") && (name.contains('d') || name.contains('D'))
        };
        let more = DATES.iter().copied().filter(|name| other(name) && !texts.contains(name));
        let mut more: Vec<String> = more.map(str::to_owned).collect();
        if let Some(time) = texts.iter().find_map(|name| Some(name.split_once(" H")?.1)) {
            more = more.iter().map(|name| format!("{name} H{time}")).chain(more.clone()).collect();
        }
        more.retain(|name| !texts.contains(&name.as_str()));
        let timed = texts.iter().all(|name| name.contains(':'));
        let more = if timed || !texts.iter().all(|name| name.contains("yy")) { Vec::new() } else { more };
        let text = texts.into_iter().map(str::to_owned).chain(more).take(40).collect::<Vec<_>>().join("|");
        Some((text, 6 + 2 * names.len() as u32, moments))
    }
}
