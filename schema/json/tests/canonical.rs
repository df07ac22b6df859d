//! What canonical JSON is: properties over random values, then the cases that hurt.

use auto_json::{Canonical, ErrorKind, Number, Record, Value, write::compare_keys};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    let number = (any::<i64>(), 0u16..20, any::<bool>()).prop_map(|(mantissa, scale, decimal)| {
        let number = if decimal { Number::decimal(mantissa.into(), scale) } else { Number::integer(mantissa.into()) };
        Value::Number(number.unwrap())
    });
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        number,
        any::<String>().prop_map(Value::Text)
    ];
    leaf.prop_recursive(4, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Record(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn canonical_text_reads_back_as_the_same_value(value in value()) {
        let text = value.canonical();
        prop_assert_eq!(&Value::parse(text.as_str()).unwrap(), &value);
        prop_assert_eq!(Canonical::of(text.as_str()).unwrap(), text);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Value::parse(&bytes);
    }

    #[test]
    fn near_json_never_panics_and_reads_back(text in "[\\[\\]{}\",:0-9eE.+\\-ntrufalse\\\\ ]{0,40}") {
        if let Ok(value) = Value::parse(&text) {
            prop_assert_eq!(Value::parse(value.canonical().as_str()).unwrap(), value);
        }
    }

    #[test]
    fn keys_sort_as_utf16(a in any::<String>(), b in any::<String>()) {
        let utf16 = a.encode_utf16().cmp(b.encode_utf16());
        prop_assert_eq!(compare_keys(a.as_bytes(), b.as_bytes()), utf16);
    }

    #[test]
    fn numbers_compare_as_their_values(a in any::<i32>(), b in any::<i32>(), scale in 0u16..6) {
        let shift = 10i128.pow(u32::from(scale));
        let x = Number::decimal(a.into(), scale).unwrap();
        let y = Number::integer(b.into()).unwrap();
        prop_assert_eq!(x.compare(&y), i128::from(a).cmp(&(i128::from(b) * shift)));
    }
}

#[test]
fn numbers_have_one_text_each() {
    for (given, canonical) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0.0"),
        ("3", "3"),
        ("3.0", "3.0"),
        ("3.00", "3.0"),
        ("3e0", "3.0"),
        ("1e3", "1000.0"),
        ("1.50", "1.5"),
        ("15e-1", "1.5"),
        ("1e-7", "0.0000001"),
        ("0.1", "0.1"),
        ("100", "100"),
        ("1E+2", "100.0"),
        ("1e300", "1e300"),
        ("1.25e-300", "1.25e-300"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("1000000000000000000000000000000000000000.0", "1e39"),
        ("-12.5e1", "-125.0"),
        ("0.00000000000000000000000000000000000000000000000001", "1e-50"),
    ] {
        assert_eq!(Canonical::of(given).unwrap().as_str(), canonical, "{given}");
        assert_eq!(Canonical::of(canonical).unwrap().as_str(), canonical, "{canonical}");
    }
    assert_ne!(Value::parse("3").unwrap(), Value::parse("3.0").unwrap());
}

#[test]
fn what_is_refused_says_why_and_where() {
    for (text, kind, offset) in [
        ("", ErrorKind::UnexpectedEnd, 0),
        ("[1,]", ErrorKind::UnexpectedCharacter, 3),
        ("{\"a\":1,\"a\":2}", ErrorKind::DuplicateKey, 13),
        ("01", ErrorKind::BadNumber, 1),
        ("1.", ErrorKind::BadNumber, 2),
        ("NaN", ErrorKind::UnexpectedCharacter, 0),
        ("1 2", ErrorKind::TrailingText, 2),
        ("\"\\ud800\"", ErrorKind::BadEscape, 1),
        ("\"\n\"", ErrorKind::ControlCharacter, 1),
        ("123456789012345678901234567890123456789", ErrorKind::NumberTooLong, 0),
        ("1e10000", ErrorKind::ExponentTooLarge, 0),
        ("{\"a\"}", ErrorKind::UnexpectedCharacter, 4),
        ("[}", ErrorKind::UnexpectedCharacter, 1),
    ] {
        let error = Value::parse(text).unwrap_err();
        assert_eq!((error.kind, error.offset), (kind, offset), "{text}");
    }
    assert_eq!(Value::parse([b'"', 0xC0, 0x80, b'"']).unwrap_err().kind, ErrorKind::NotUtf8);
    assert_eq!(Value::parse("[".repeat(65)).unwrap_err().kind, ErrorKind::TooDeep);
    assert!(Value::parse("[".repeat(64) + &"]".repeat(64)).is_ok());
}

#[test]
fn strings_escape_as_rfc_8785() {
    let text = "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"";
    assert_eq!(Canonical::of(text).unwrap().as_str(), "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
    assert_eq!(Value::parse("\"\\ud83d\\ude00\"").unwrap(), Value::from("😀"));
}

#[test]
fn records_keep_canonical_order_and_replace() {
    let record = Record::new().with("b", 1i64).with("a", 2i64).with("b", 3i64);
    assert_eq!(Value::from(record).canonical().as_str(), "{\"a\":2,\"b\":3}");
}
