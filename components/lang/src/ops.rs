//! The table of operators: names, arity, types, cost and meaning, in one place.
//!
//! Every operator is partial: an argument of another kind, a position out of range or an
//! empty separator makes it undefined. `if`, `default`, `and` and `or` look at their
//! arguments one after the other and only as far as they must; all others are undefined
//! as soon as one argument is.

use std::fmt;

/// What an operator is, for people and tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Which.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// The fewest arguments.
    pub least: usize,
    /// The most arguments; `usize::MAX` for any number.
    pub most: usize,
    /// Argument and result types, for people.
    pub types: &'static str,
    /// What it adds to a program's description length, in bits.
    pub cost: u32,
    /// What it does, in a sentence.
    pub doc: &'static str,
}

impl Op {
    /// The table entry.
    pub fn info(self) -> &'static Operator {
        &OPS[self as usize]
    }

    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The operator of that name. `map` and others with `x =>` are not among them: they are
    /// [`crate::Each`].
    pub fn named(name: &str) -> Option<Op> {
        OPS.iter().find(|operator| operator.name == name).map(|operator| operator.op)
    }

    /// Whether it evaluates its arguments one after the other and only as far as it must.
    pub fn is_lazy(self) -> bool {
        matches!(self, Op::If | Op::Default | Op::And | Op::Or)
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Any number of arguments.
const ANY: usize = usize::MAX;

macro_rules! operators {
    ($($op:ident $name:literal $least:literal $most:tt $types:literal $cost:literal $doc:literal;)*) => {
        /// An operator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Op {
            $(#[doc = $doc] $op,)*
        }

        /// Every operator, in the order of [`Op`].
        pub const OPS: &[Operator] = &[
            $(Operator { op: Op::$op, name: $name, least: $least, most: $most, types: $types, cost: $cost, doc: $doc },)*
        ];
    };
}

operators! {
    Lower "lower" 1 1 "(text) -> text" 4 "Every code point in lowercase.";
    Upper "upper" 1 1 "(text) -> text" 5 "Every code point in uppercase.";
    Title "title" 1 1 "(text) -> text" 6 "The first letter of each word in uppercase, the others in lowercase.";
    Trim "trim" 1 1 "(text) -> text" 4 "Without white space at the ends.";
    Collapse "collapse" 1 1 "(text) -> text" 6 "Every run of white space as one space.";
    Concat "concat" 1 ANY "(text, ...) -> text" 4 "One text after the other.";
    Replace "replace" 3 3 "(text, from: text, to: text) -> text" 6 "Every occurrence of `from` as `to`; `from` is not empty.";
    Strip "strip" 2 2 "(text, set: text) -> text" 5 "Without code points of `set` at the ends.";
    Split "split" 2 2 "(text, separator: text) -> list<text>" 5 "The parts between occurrences of the separator, which is not empty.";
    Words "words" 1 1 "(text) -> list<text>" 4 "The runs of what is not white space.";
    Lines "lines" 1 1 "(text) -> list<text>" 5 "The lines, without their ends.";
    Join "join" 2 2 "(list<text>, separator: text) -> text" 4 "The texts with the separator between them.";
    Chars "chars" 1 1 "(text) -> int" 4 "How many code points.";
    Substr "substr" 2 3 "(text, from: int, to?: int) -> text" 7 "The code points from `from` up to, not including, `to`; negative positions count from the end.";
    Every "every" 3 3 "(text, n: int, from: int) -> text" 9 "The code point at `from` and each `n`-th behind it; `n` is at least 1, `from` at least 0.";
    Before "before" 2 2 "(text, separator: text) -> text" 5 "What precedes the first separator.";
    After "after" 2 2 "(text, separator: text) -> text" 5 "What follows the first separator.";
    Between "between" 3 3 "(text, left: text, right: text) -> text" 6 "What lies between the first `left` and the first `right` after it.";
    Starts "starts" 2 2 "(text, part: text) -> bool" 5 "Whether it begins with the part.";
    Ends "ends" 2 2 "(text, part: text) -> bool" 5 "Whether it ends with the part.";
    Contains "contains" 2 2 "(text, part: text) -> bool" 4 "Whether the part occurs in it.";
    Digits "digits" 1 1 "(text) -> text" 5 "The ASCII digits alone.";
    Letters "letters" 1 1 "(text) -> text" 6 "The alphabetic code points alone.";
    Pad "pad" 4 4 "(text, width: int, fill: text, side) -> text" 6 "The text made so many code points wide with the one code point of `fill` on the `left`, the `right` or `both`; a wider text as it is.";
    Mirror "mirror" 1 1 "(text) -> text" 8 "The code points from the last to the first.";
    Find "find" 2 2 "(text, part: text) -> int" 7 "Where the part first occurs, in code points.";
    Occurrences "occurrences" 2 2 "(text, part: text) -> int" 7 "How often the part, which is not empty, occurs without overlapping.";
    Recase "recase" 2 2 "(text, style) -> text" 6 "The words as `camel`, `pascal`, `snake`, `kebab` or `constant`; the text as a `sentence` or with its `first` letter in uppercase; the `initials` of its words.";
    Unaccent "unaccent" 1 1 "(text) -> text" 7 "Every Latin letter without its marks.";
    Normalize "normalize" 2 2 "(text, form) -> text" 7 "The text in a normal form of Unicode: `NFC`, `NFD`, `NFKC` or `NFKD`.";
    Number "number" 1 1 "(text) -> number" 5 "The number that a plain decimal says: `-12` or `3.50`.";
    Text "text" 1 1 "(number | bool) -> text" 5 "The canonical text of a number or a boolean.";
    Token "token" 3 3 "(text, class, index: int) -> text" 5 "The index-th token of a class, from 0, or from -1 backwards.";
    Match "match" 3 3 "(text, pattern, index: int) -> text" 5 "The index-th match of a pattern that overlaps none before it, from 0, or from -1 backwards.";
    Matches "matches" 2 2 "(text, pattern) -> list<text>" 6 "All matches of a pattern that do not overlap.";
    Has "has" 2 2 "(text, pattern) -> bool" 5 "Whether a pattern occurs.";
    Cut "cut" 3 3 "(text, from: position, to: position) -> text" 5 "What lies between two positions, the second not before the first.";
    SplitOn "split_on" 2 2 "(text, pattern) -> list<text>" 6 "The parts between the matches of a pattern.";
    Substitute "substitute" 3 3 "(text, pattern, to: text) -> text" 7 "Every match of a pattern as `to`.";
    ReadDate "read_date" 2 2 "(text, layouts) -> text" 5 "The date, the time or both that a text says in the first that fits of some layouts such as `d MMM yyyy|M/d/yy`, as ISO text.";
    PrintDate "print_date" 2 2 "(date: text, layout) -> text" 5 "The date in a layout such as `EEEE, MMMM ddd, yyyy`; undefined where it lacks a part.";
    DatePart "date_part" 2 2 "(date: text, part) -> int" 5 "The `year`, `month`, `day`, `hour`, `minute`, `second`, `weekday` (1 for Monday), `quarter`, `week` (ISO 8601) or `day_of_year`.";
    DateAdd "date_add" 3 3 "(date: text, count: int, unit) -> text" 6 "The date so many `seconds`, `minutes`, `hours`, `days`, `weeks`, `months` or `years` later; the last day of a month that has no such day; a time alone goes round the clock.";
    DateDiff "date_diff" 3 3 "(date: text, date: text, unit) -> int" 7 "How many whole units the first is later, rounded towards zero.";
    DateRound "date_round" 4 4 "(date: text, count: int, unit, rounding) -> text" 6 "The date rounded to a multiple of so many units: of the day, of weeks from Monday, or of the year; to months and years `down`, `up` or to `zero`.";
    First "first" 1 1 "(list<T>) -> T" 4 "The first item.";
    Last "last" 1 1 "(list<T>) -> T" 4 "The last item.";
    Nth "nth" 2 2 "(list<T>, index: int) -> T" 6 "The index-th item, from 0, or from -1 backwards.";
    Take "take" 2 2 "(list<T>, count: int) -> list<T>" 5 "The first `count` items, or all where there are fewer; not negative.";
    Drop "drop" 2 2 "(list<T>, count: int) -> list<T>" 6 "All but the first `count` items; not negative.";
    Slice "slice" 2 3 "(list<T>, from: int, to?: int) -> list<T>" 8 "The items from `from` up to, not including, `to`; negative positions count from the end.";
    Reverse "reverse" 1 1 "(list<T>) -> list<T>" 6 "The last item first.";
    Sort "sort" 1 1 "(list<text> | list<number>) -> list" 5 "In rising order, equal items as they were: texts by their UTF-8 bytes, numbers by value, an integer before an equal decimal.";
    Dedup "dedup" 1 1 "(list<T>) -> list<T>" 5 "Each distinct item where it first occurs.";
    Count "count" 1 1 "(list<T>) -> int" 4 "How many items.";
    Flatten "flatten" 1 1 "(list<list<T>>) -> list<T>" 6 "The items of the lists, one list after the other.";
    Zip "zip" 2 2 "(list<T>, list<U>) -> list<list>" 8 "Lists of two, an item of each, as many as the shorter list has.";
    Transpose "transpose" 1 1 "(list<list<T>>) -> list<list<T>>" 8 "The columns of rows, which are all of one length.";
    IndexOf "index_of" 2 2 "(list<T>, T) -> int" 7 "Where the list first has an item equal to it, from 0.";
    Get "get" 2 2 "(record, key: text) -> any" 6 "The member of that name.";
    Keys "keys" 1 1 "(record) -> list<text>" 7 "The names of its members, in canonical order.";
    Values "values" 1 1 "(record) -> list" 7 "Its members, in the order of their names.";
    Entries "entries" 1 1 "(record) -> list<record>" 7 "Records of a `key` and a `value`, in the order of names.";
    Gather "gather" 1 1 "(list<record>) -> record" 7 "The record of a list of such entries, in which no key occurs twice.";
    Merge "merge" 2 2 "(record, record) -> record" 6 "The members of both; of those with one name the second's.";
    Pick "pick" 2 2 "(record, list<text>) -> record" 7 "Those of its members that are named.";
    Omit "omit" 2 2 "(record, list<text>) -> record" 7 "Its members except those that are named.";
    Rename "rename" 3 3 "(record, from: text, to: text) -> record" 7 "With one member, which it has, under another name, which it has not.";
    ReadPairs "read_pairs" 3 3 "(text, separator: text, assign: text) -> map<text>" 7 "The record of the `key: value` pairs between separators, without white space around them; undefined where a key occurs twice.";
    ReadQuery "read_query" 1 1 "(text) -> map<text>" 7 "The record of a query string, decoded; undefined where a key occurs twice.";
    ReadCsv "read_csv" 2 2 "(text, separator: text) -> list<text>" 6 "The fields of a line of CSV.";
    ReadJson "read_json" 1 1 "(text) -> any" 6 "The value that a JSON text says.";
    PrintJson "print_json" 1 1 "(any) -> text" 6 "The canonical JSON text of a value.";
    Digest "digest" 1 1 "(any) -> int" 16 "A number of 63 bits that stands for the value: FNV-1a of its canonical JSON text. Others may have it too, if seldom.";
    Sum "sum" 1 1 "(list<number>) -> number" 5 "The sum; 0 of an empty list.";
    Min "min" 1 1 "(list<number>) -> number" 6 "The least item, the first of equals.";
    Max "max" 1 1 "(list<number>) -> number" 6 "The greatest item, the first of equals.";
    Includes "includes" 2 2 "(list<T>, T) -> bool" 5 "Whether the list has an item equal to it.";
    Add "add" 2 2 "(number, number) -> number" 5 "The sum, exactly; undefined past 38 digits.";
    Sub "sub" 2 2 "(number, number) -> number" 5 "The difference, exactly; undefined past 38 digits.";
    Mul "mul" 2 2 "(number, number) -> number" 5 "The product, exactly; undefined past 38 digits.";
    Neg "neg" 1 1 "(number) -> number" 6 "The number with the other sign.";
    Abs "abs" 1 1 "(number) -> number" 7 "The magnitude.";
    Div "div" 2 2 "(number, number) -> int" 6 "How many whole times the second goes into the first, rounded down; undefined for 0.";
    Mod "mod" 2 2 "(number, number) -> number" 6 "What is left over then, with the sign of the second.";
    Ratio "ratio" 3 3 "(number, number, decimals: int) -> number" 8 "The quotient with so many decimals, 0 to 18, half way to the even one.";
    Round "round" 3 3 "(number, step: number, rounding) -> number" 5 "The multiple of `step`, which is above 0, that is `down`, `up`, nearer to `zero`, or nearest with a tie `half_up` (away from zero), `half_down` or `half_even`; an integer where the step is one.";
    ReadNumber "read_number" 2 2 "(text, style) -> number" 5 "The number that a text says in a style such as `1,234.5`, also with a sign, parentheses, currency, `%`, or `k`, `M`, `bn`.";
    PrintNumber "print_number" 2 2 "(number, format) -> text" 5 "The number in a format such as `$#,##0.00`, rounded half up.";
    Ordinal "ordinal" 1 1 "(int) -> text" 7 "The number with `st`, `nd`, `rd` or `th`.";
    Roman "roman" 1 1 "(int) -> text" 8 "The number, 1 to 3999, in Roman numerals.";
    Unroman "unroman" 1 1 "(text) -> int" 8 "The number that Roman numerals say.";
    Spell "spell" 1 1 "(int) -> text" 8 "The number, of at most nine digits, in English words.";
    Unspell "unspell" 1 1 "(text) -> int" 8 "The number, of at most nine digits, that English words say, in either case, with or without `and` and hyphens.";
    Lt "lt" 2 2 "(number, number) -> bool" 4 "Whether it is less, by value.";
    Le "le" 2 2 "(number, number) -> bool" 4 "Whether it is less or equal, by value.";
    Gt "gt" 2 2 "(number, number) -> bool" 4 "Whether it is greater, by value.";
    Ge "ge" 2 2 "(number, number) -> bool" 4 "Whether it is greater or equal, by value.";
    Eq "eq" 2 2 "(any, any) -> bool" 4 "Whether the canonical texts are equal: 3 is not 3.0.";
    And "and" 1 ANY "(bool, ...) -> bool" 4 "Whether all are true; stops at the first that is false.";
    Or "or" 1 ANY "(bool, ...) -> bool" 4 "Whether any is true; stops at the first that is true.";
    Not "not" 1 1 "(bool) -> bool" 5 "The other truth value.";
    IsNull "is_null" 1 1 "(any) -> bool" 6 "Whether it is null.";
    TypeIs "type_is" 2 2 "(any, \"null\" | \"bool\" | \"number\" | \"text\" | \"list\" | \"record\") -> bool" 8 "Whether it is of that kind.";
    If "if" 3 3 "(bool, T, T) -> T" 6 "The second where the first is true, the third where it is false; the other is not looked at.";
    Default "default" 2 2 "(T, T) -> T" 7 "The first, or the second where the first is undefined.";
}

/// The kinds that `type_is` knows.
pub const KINDS: [&str; 6] = ["null", "bool", "number", "text", "list", "record"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_names_are_unique() {
        for (index, operator) in OPS.iter().enumerate() {
            assert_eq!(operator.op as usize, index, "{}", operator.name);
            assert_eq!(Op::named(operator.name), Some(operator.op));
            assert!(operator.least >= 1 && operator.least <= operator.most);
        }
    }
}
