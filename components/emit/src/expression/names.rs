//! Which runtime function an operator is.

use auto_json::Value;
use auto_lang::pattern::{Kinds, Pattern, Position};
use auto_lang::{Each, Expr, Literal, Op};

use crate::constants::{BOOL, LIST, NULL, NUMBER, RECORD, TEXT};

pub(super) fn literal_text(expression: &Expr) -> &str {
    match expression {
        Expr::Literal(Value::Text(text)) => text,
        _ => "",
    }
}

/// The kind that `type_is` names; 0, which nothing is, for a name that is none.
pub(super) fn kind_named(name: &Expr) -> u32 {
    match literal_text(name) {
        "null" => NULL,
        "bool" => BOOL,
        "number" => NUMBER,
        "text" => TEXT,
        "list" => LIST,
        "record" => RECORD,
        _ => 0,
    }
}

/// The runtime function that finds tokens of a class.
pub(super) fn token(class: &Expr) -> &'static str {
    match literal_text(class) {
        "letters" => "rt_token_letters",
        "upper" => "rt_token_upper",
        "alnum" => "rt_token_alnum",
        "id" => "rt_token_id",
        "lower" => "rt_token_lower",
        "proper" => "rt_token_proper",
        "word" => "rt_token_word",
        "space" => "rt_token_space",
        "punct" => "rt_token_punct",
        "number" => "rt_token_number",
        "money" => "rt_token_money",
        "email" => "rt_token_email",
        "url" => "rt_token_url",
        "hex" => "rt_token_hex",
        "uuid" => "rt_token_uuid",
        "date" => "rt_token_date",
        "time" => "rt_token_time",
        "quoted" => "rt_token_quoted",
        "numeral" => "rt_token_numeral",
        "punctuation" => "rt_token_punctuation",
        "symbol" => "rt_token_symbol",
        "mark" => "rt_token_mark",
        // The parser knows no other class.
        _ => "rt_token_digits",
    }
}

/// The tables that the literal arguments of an operator need: bits of [`Kinds`].
pub(super) fn kinds(op: Op, arguments: &[Expr]) -> u8 {
    let of = |(index, literal): &(usize, Literal)| {
        let text = arguments.get(*index).map_or("", literal_text);
        match literal {
            Literal::Pattern => Pattern::parse(text).map_or(0, |pattern| pattern.kinds()),
            Literal::Position => Position::parse(text).map_or(0, |position| position.kinds()),
            _ => 0,
        }
    };
    op.literals().iter().fold(0, |all, literal| all | of(literal))
}

/// Of some runtime functions, the one with the tables that an operator's literals need.
fn by_kinds(op: Op, arguments: &[Expr], names: [&'static str; 5]) -> &'static str {
    let [plain, letters, shapes, all, every] = names;
    match kinds(op, arguments) {
        Kinds::PLAIN => plain,
        Kinds::LETTERS => letters,
        Kinds::SHAPES => shapes,
        Kinds::ALL => all,
        _ => every,
    }
}

/// The runtime function of what needs a list and as many keys.
pub(super) fn with_keys(each: Each) -> Option<&'static str> {
    match each {
        Each::Map | Each::Filter => None,
        Each::SortBy => Some("rt_sort_by"),
        Each::GroupBy => Some("rt_group_by"),
    }
}

/// The runtime function of a normal form, with the tables of no other.
fn normalizer(arguments: &[Expr]) -> &'static str {
    match arguments.get(1).map_or("", literal_text) {
        "NFD" => "rt_nfd",
        "NFKC" => "rt_nfkc",
        "NFKD" => "rt_nfkd",
        _ => "rt_nfc",
    }
}

/// Whether an argument is a date.
pub(super) fn takes_moment(op: Op, index: usize) -> bool {
    match op {
        Op::PrintDate | Op::DatePart | Op::DateAdd | Op::DateRound => index == 0,
        Op::DateDiff => true,
        _ => false,
    }
}

/// The runtime function of an operator that gives a date, for another operator on dates.
pub(super) fn moment_name(op: Op) -> Option<&'static str> {
    match op {
        Op::ReadDate => Some("rt_read_moment"),
        Op::DateAdd => Some("rt_add_moment"),
        Op::DateRound => Some("rt_round_moment"),
        _ => None,
    }
}

/// The runtime function of an operator that evaluates all its arguments.
pub(super) fn runtime_name(op: Op, arguments: &[Expr]) -> &'static str {
    match (op, arguments.len()) {
        (Op::Lower, _) => "rt_lower",
        (Op::Upper, _) => "rt_upper",
        (Op::Title, _) => "rt_title",
        (Op::Trim, _) => "rt_trim",
        (Op::Collapse, _) => "rt_collapse",
        (Op::Replace, _) => "rt_replace",
        (Op::Strip, _) => "rt_strip",
        (Op::Split, _) => "rt_split",
        (Op::Words, _) => "rt_words",
        (Op::Lines, _) => "rt_lines",
        (Op::Join | Op::Concat, _) => "rt_join",
        (Op::Chars, _) => "rt_chars",
        (Op::Substr, 2) => "rt_substr",
        (Op::Substr, _) => "rt_substr_to",
        (Op::Every, _) => "rt_every",
        (Op::Before, _) => "rt_before",
        (Op::After, _) => "rt_after",
        (Op::Between, _) => "rt_between",
        (Op::Starts, _) => "rt_starts",
        (Op::Ends, _) => "rt_ends",
        (Op::Contains, _) => "rt_contains",
        (Op::Digits, _) => "rt_digits",
        (Op::Letters, _) => "rt_letters",
        (Op::Number, _) => "rt_number",
        (Op::Text, _) => "rt_text",
        (Op::First, _) => "rt_first",
        (Op::Last, _) => "rt_last",
        (Op::Nth, _) => "rt_nth",
        (Op::Take, _) => "rt_take",
        (Op::Drop, _) => "rt_drop",
        (Op::Slice, 2) => "rt_slice",
        (Op::Slice, _) => "rt_slice_to",
        (Op::Reverse, _) => "rt_reverse",
        (Op::Sort, _) => "rt_sort",
        (Op::Dedup, _) => "rt_dedup",
        (Op::Count, _) => "rt_count",
        (Op::Sum, _) => "rt_sum",
        (Op::Min, _) => "rt_min",
        (Op::Max, _) => "rt_max",
        (Op::Includes, _) => "rt_includes",
        (Op::Add, _) => "rt_add",
        (Op::Sub, _) => "rt_sub",
        (Op::Mul, _) => "rt_mul",
        (Op::Neg, _) => "rt_neg",
        (Op::Abs, _) => "rt_abs",
        (Op::Pad, _) => "rt_pad",
        (Op::Mirror, _) => "rt_mirror",
        (Op::Find, _) => "rt_find",
        (Op::Occurrences, _) => "rt_occurrences",
        (Op::Recase, _) => "rt_recase",
        (Op::Unaccent, _) => "rt_unaccent",
        (Op::Normalize, _) => normalizer(arguments),
        (Op::Flatten, _) => "rt_flatten",
        (Op::Zip, _) => "rt_zip",
        (Op::Transpose, _) => "rt_transpose",
        (Op::IndexOf, _) => "rt_index_of",
        (Op::Get, _) => "rt_get",
        (Op::Keys, _) => "rt_keys",
        (Op::Values, _) => "rt_values",
        (Op::Entries, _) => "rt_entries",
        (Op::Gather, _) => "rt_gather",
        (Op::Merge, _) => "rt_merge",
        (Op::Pick, _) => "rt_pick",
        (Op::Omit, _) => "rt_omit",
        (Op::Rename, _) => "rt_rename",
        (Op::ReadPairs, _) => "rt_read_pairs",
        (Op::ReadQuery, _) => "rt_read_query",
        (Op::ReadCsv, _) => "rt_read_csv",
        (Op::ReadJson, _) => "rt_read_json",
        (Op::PrintJson, _) => "rt_print_json",
        (Op::Digest, _) => "rt_digest",
        (Op::ReadDate, _) => "rt_read_date",
        (Op::PrintDate, _) => "rt_print_date",
        (Op::DatePart, _) => "rt_date_part",
        (Op::DateAdd, _) => "rt_date_add",
        (Op::DateDiff, _) => "rt_date_diff",
        (Op::DateRound, _) => "rt_date_round",
        (Op::Div, _) => "rt_div",
        (Op::Mod, _) => "rt_mod",
        (Op::Ratio, _) => "rt_ratio",
        (Op::Round, _) => "rt_round",
        (Op::ReadNumber, _) => "rt_read_number",
        (Op::PrintNumber, _) => "rt_print_number",
        (Op::Ordinal, _) => "rt_ordinal",
        (Op::Roman, _) => "rt_roman",
        (Op::Unroman, _) => "rt_unroman",
        (Op::Spell, _) => "rt_spell",
        (Op::Unspell, _) => "rt_unspell",
        (Op::Lt, _) => "rt_lt",
        (Op::Le, _) => "rt_le",
        (Op::Gt, _) => "rt_gt",
        (Op::Ge, _) => "rt_ge",
        (Op::Eq, _) if arguments.iter().any(|side| matches!(side, Expr::Literal(Value::Text(_)))) => "rt_eq_text",
        (Op::Eq, _) => "rt_eq",
        (Op::Not, _) => "rt_not",
        (Op::Match, _) => by_kinds(
            op,
            arguments,
            ["rt_match_plain", "rt_match_letters", "rt_match_shapes", "rt_match_all", "rt_match_every"],
        ),
        (Op::Matches, _) => by_kinds(
            op,
            arguments,
            ["rt_matches_plain", "rt_matches_letters", "rt_matches_shapes", "rt_matches_all", "rt_matches_every"],
        ),
        (Op::Has, _) => {
            by_kinds(op, arguments, ["rt_has_plain", "rt_has_letters", "rt_has_shapes", "rt_has_all", "rt_has_every"])
        }
        (Op::Cut, _) => {
            by_kinds(op, arguments, ["rt_cut_plain", "rt_cut_letters", "rt_cut_shapes", "rt_cut_all", "rt_cut_every"])
        }
        (Op::SplitOn, _) => {
            let names = [
                "rt_split_on_plain",
                "rt_split_on_letters",
                "rt_split_on_shapes",
                "rt_split_on_all",
                "rt_split_on_every",
            ];
            by_kinds(op, arguments, names)
        }
        (Op::Substitute, _) => {
            let names = [
                "rt_substitute_plain",
                "rt_substitute_letters",
                "rt_substitute_shapes",
                "rt_substitute_all",
                "rt_substitute_every",
            ];
            by_kinds(op, arguments, names)
        }
        // `Compiler::operator` has its own code for these.
        (Op::Token, _) => "rt_token_digits",
        (Op::IsNull | Op::TypeIs, _) => "rt_kind_is",
        (Op::If | Op::Default | Op::And | Op::Or, _) => "rt_truth",
    }
}
