//! Secrets that are cut over neighbouring texts of a list, as lines and the parts of a message are. Only
//! those that are known by their shape, wherever they stand: what is a number or a word may be anything
//! when texts are put together that nobody wrote in one.

use std::ops::Range;

use auto_json::{Record, Value};

use crate::kinds::Kind;
use crate::{Scrubber, is_placeholder};

/// The kinds that are looked for.
const KINDS: [Kind; 3] = [Kind::PrivateKey, Kind::ProviderKey, Kind::Token];

/// The member that holds the text of a part of a message.
const TEXT: &str = "text";

/// Something that goes over the end of a text.
struct Cut<'s> {
    kind: &'s str,
    value: String,
    /// Where it stands: items, and what of their texts.
    pieces: Vec<(usize, Range<usize>)>,
}

impl Scrubber {
    /// The items without what was cut over several; none where nothing was.
    pub(crate) fn mended(&self, items: &[Value]) -> Option<Vec<Value>> {
        let cuts = self.cuts(items);
        if cuts.is_empty() {
            return None;
        }
        let mut texts: Vec<Option<String>> = items.iter().map(|item| text(item).map(str::to_owned)).collect();
        // From the end, so that places stay where they are.
        for cut in cuts.iter().rev() {
            for (number, (item, range)) in cut.pieces.iter().enumerate().rev() {
                let placeholder = if number == 0 { self.placeholder(cut.kind, &cut.value) } else { String::new() };
                if let Some(text) = &mut texts[*item] {
                    text.replace_range(range.clone(), &placeholder);
                }
            }
            self.count(cut.kind);
        }
        Some(items.iter().zip(texts).map(|(item, text)| with_text(item, text)).collect())
    }

    /// The kinds of what is cut over several items.
    pub(crate) fn cut_kinds(&self, items: &[Value]) -> Vec<String> {
        self.cuts(items).into_iter().map(|cut| cut.kind.to_owned()).collect()
    }

    fn cuts(&self, items: &[Value]) -> Vec<Cut<'_>> {
        let (mut cuts, mut from) = (Vec::new(), 0);
        while from < items.len() {
            let together = items[from..].iter().map_while(text).count();
            if together > 1 {
                cuts.extend(self.cuts_of(from, items[from..from + together].iter().filter_map(text).collect()));
            }
            from += together.max(1);
        }
        cuts
    }

    /// What goes over the end of a text, of texts that follow one another.
    fn cuts_of(&self, first: usize, texts: Vec<&str>) -> Vec<Cut<'_>> {
        let whole = texts.concat();
        let mut ends: Vec<usize> = Vec::new();
        texts.iter().for_each(|text| ends.push(ends.last().copied().unwrap_or(0) + text.len()));
        let mut cuts: Vec<Cut<'_>> = Vec::new();
        let mut taken: Vec<Range<usize>> = Vec::new();
        for rule in self.rules.iter().filter(|rule| KINDS.iter().any(|kind| kind.name() == rule.name())) {
            for range in rule.find(&whole) {
                let over = ends.iter().any(|end| range.start < *end && *end < range.end);
                let apart = taken.iter().all(|one| one.end <= range.start || range.end <= one.start);
                if !over || !apart || is_placeholder(&whole[range.clone()]) {
                    continue;
                }
                let piece = |(number, end): (usize, &usize)| {
                    let begin = end - texts[number].len();
                    let (start, end) = (range.start.max(begin), range.end.min(*end));
                    (start < end).then(|| (first + number, start - begin..end - begin))
                };
                let pieces = ends.iter().enumerate().filter_map(piece).collect();
                cuts.push(Cut { kind: rule.name(), value: whole[range.clone()].to_owned(), pieces });
                taken.push(range);
            }
        }
        cuts.sort_by_key(|cut| cut.pieces.first().map(|(item, range)| (*item, range.start)));
        cuts
    }
}

/// The text of an item, if it is one or has one.
fn text(item: &Value) -> Option<&str> {
    item.as_text().or_else(|| item.as_record()?.get(TEXT)?.as_text())
}

fn with_text(item: &Value, text: Option<String>) -> Value {
    match (item, text) {
        (Value::Text(_), Some(text)) => text.into(),
        (Value::Record(record), Some(text)) => {
            let mut changed: Record = record.clone();
            changed.set(TEXT, text);
            changed.into()
        }
        _ => item.clone(),
    }
}
