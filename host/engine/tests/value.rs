//! Values survive their two forms: JSON by type, and bytes.

use std::sync::Arc;

use auto_engine::shape::Ty;
use auto_engine::value::{decode, encode, fits, from_json, to_json};
use auto_json::Value;
use proptest::prelude::*;
use wasmtime::component::Val;

fn types() -> impl Strategy<Value = Ty> {
    let leaf = prop_oneof![
        Just(Ty::Bool),
        Just(Ty::S8),
        Just(Ty::U8),
        Just(Ty::S16),
        Just(Ty::U16),
        Just(Ty::S32),
        Just(Ty::U32),
        Just(Ty::S64),
        Just(Ty::U64),
        Just(Ty::F32),
        Just(Ty::F64),
        Just(Ty::Char),
        Just(Ty::String),
        Just(Ty::Enum(["a-b".to_owned(), "other".to_owned()].into())),
        Just(Ty::Flags(["x-y".to_owned(), "z".to_owned()].into())),
        Just(Ty::List(Arc::new(Ty::U8))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let optional = prop::option::of(inner.clone());
        prop_oneof![
            inner.clone().prop_map(|ty| Ty::List(Arc::new(ty))),
            inner.clone().prop_map(|ty| Ty::Option(Arc::new(ty))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(|types| Ty::Tuple(types.into())),
            prop::collection::vec(inner, 1..4).prop_map(|types| {
                Ty::Record(types.into_iter().enumerate().map(|(at, ty)| (format!("field-{at}"), ty)).collect())
            }),
            (optional.clone(), optional.clone()).prop_map(|pair| Ty::Result(Arc::new(pair))),
            prop::collection::vec(optional, 1..4).prop_map(|types| {
                Ty::Variant(types.into_iter().enumerate().map(|(at, ty)| (format!("case-{at}"), ty)).collect())
            }),
        ]
    })
}

fn of(ty: &Ty) -> BoxedStrategy<Val> {
    match ty {
        Ty::Bool => any::<bool>().prop_map(Val::Bool).boxed(),
        Ty::S8 => any::<i8>().prop_map(Val::S8).boxed(),
        Ty::U8 => any::<u8>().prop_map(Val::U8).boxed(),
        Ty::S16 => any::<i16>().prop_map(Val::S16).boxed(),
        Ty::U16 => any::<u16>().prop_map(Val::U16).boxed(),
        Ty::S32 => any::<i32>().prop_map(Val::S32).boxed(),
        Ty::U32 => any::<u32>().prop_map(Val::U32).boxed(),
        Ty::S64 => any::<i64>().prop_map(Val::S64).boxed(),
        Ty::U64 => any::<u64>().prop_map(Val::U64).boxed(),
        // Adding zero turns negative zero, which JSON does not have here, into zero.
        Ty::F32 => proptest::num::f32::NORMAL.prop_map(|x| Val::Float32(x + 0.0)).boxed(),
        Ty::F64 => proptest::num::f64::NORMAL.prop_map(|x| Val::Float64(x + 0.0)).boxed(),
        Ty::Char => any::<char>().prop_map(Val::Char).boxed(),
        Ty::String => any::<String>().prop_map(Val::String).boxed(),
        Ty::List(ty) => prop::collection::vec(of(ty), 0..4).prop_map(Val::List).boxed(),
        Ty::Tuple(types) => types.iter().map(of).collect::<Vec<_>>().prop_map(Val::Tuple).boxed(),
        Ty::Record(fields) => {
            let fields = fields.iter().map(|(name, ty)| (Just(name.clone()), of(ty)));
            fields.collect::<Vec<_>>().prop_map(Val::Record).boxed()
        }
        Ty::Variant(cases) => {
            let cases = cases.iter().map(|(name, ty)| (Just(name.clone()), optional(ty)).boxed());
            proptest::strategy::Union::new(cases).prop_map(|(name, payload)| Val::Variant(name, payload)).boxed()
        }
        Ty::Enum(names) => prop::sample::select(names.to_vec()).prop_map(Val::Enum).boxed(),
        Ty::Flags(names) => prop::sample::subsequence(names.to_vec(), 0..=names.len()).prop_map(Val::Flags).boxed(),
        Ty::Option(ty) => prop::option::of(of(ty).prop_map(Box::new)).prop_map(Val::Option).boxed(),
        Ty::Result(types) => {
            let ok = optional(&types.0).prop_map(|value| Val::Result(Ok(value)));
            prop_oneof![ok, optional(&types.1).prop_map(|value| Val::Result(Err(value)))].boxed()
        }
    }
}

fn optional(ty: &Option<Ty>) -> BoxedStrategy<Option<Box<Val>>> {
    match ty {
        None => Just(None).boxed(),
        Some(ty) => of(ty).prop_map(|value| Some(Box::new(value))).boxed(),
    }
}

fn typed() -> impl Strategy<Value = (Ty, Val)> {
    types().prop_flat_map(|ty| (Just(ty.clone()), of(&ty)))
}

fn bytes(value: &Val) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(std::slice::from_ref(value), &mut bytes);
    bytes
}

proptest! {
    #[test]
    fn json_and_back((ty, value) in typed()) {
        prop_assert!(fits(&value, &ty));
        let json = to_json(&value, &ty).unwrap();
        let text = json.canonical().into_string();
        let back = from_json(&Value::parse(&text).unwrap(), &ty).unwrap();
        prop_assert_eq!(bytes(&value), bytes(&back), "{}", text);
    }

    #[test]
    fn bytes_and_back((_, value) in typed()) {
        let encoded = bytes(&value);
        let back = decode(&encoded).unwrap();
        prop_assert_eq!(bytes(&back[0]), encoded);
        prop_assert_eq!(&back[0], &value);
    }

    #[test]
    fn no_bytes_make_the_reader_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn a_cut_is_noticed((_, value) in typed(), cut in 1usize..9) {
        let encoded = bytes(&value);
        prop_assert_eq!(decode(&encoded[..encoded.len() - cut.min(encoded.len())]), None);
    }
}

fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

#[test]
fn fields_are_read_with_either_kind_of_dash() {
    let ty = Ty::Record([("code-id".to_owned(), Ty::U32), ("at".to_owned(), Ty::Option(Arc::new(Ty::String)))].into());
    let value = from_json(&json(r#"{"code-id": 1}"#), &ty).unwrap();
    assert_eq!(value, from_json(&json(r#"{"code_id": 1, "at": null}"#), &ty).unwrap());
    assert_eq!(to_json(&value, &ty).unwrap(), json(r#"{"code_id": 1, "at": null}"#));
    for (text, at) in [
        (r#"{"code-id": 1, "code_id": 1}"#, "/code-id"),
        (r#"{}"#, "/code-id"),
        (r#"{"code-id": 1, "more": 1}"#, "/more"),
        (r#"{"code-id": -1}"#, "/code-id"),
        (r#"{"code-id": 1.0}"#, "/code-id"),
        (r#"{"code-id": 1, "at": 3}"#, "/at"),
    ] {
        assert_eq!(from_json(&json(text), &ty).unwrap_err().at, at, "{text}");
    }
}

#[test]
fn the_forms_of_the_table() {
    let bytes = Ty::List(Arc::new(Ty::U8));
    assert_eq!(to_json(&Val::List(vec![Val::U8(0), Val::U8(255)]), &bytes).unwrap(), json(r#""AP8=""#));
    let backend = Ty::Variant([("wasm".to_owned(), None), ("other".to_owned(), Some(Ty::String))].into());
    assert_eq!(from_json(&json(r#""wasm""#), &backend).unwrap(), Val::Variant("wasm".to_owned(), None));
    let other = Val::Variant("other".to_owned(), Some(Box::new(Val::String("gpu".to_owned()))));
    assert_eq!(to_json(&other, &backend).unwrap(), json(r#"{"other": "gpu"}"#));
    assert!(from_json(&json(r#"{"wasm": null}"#), &backend).unwrap_err().message.contains("\"wasm\""));
    assert!(from_json(&json(r#""other""#), &backend).unwrap_err().message.contains("payload"));
    let twice = Ty::Option(Arc::new(Ty::Option(Arc::new(Ty::U8))));
    let inner = Val::Option(Some(Box::new(Val::Option(None))));
    assert_eq!(to_json(&inner, &twice).unwrap(), json(r#"{"some": null}"#));
    assert_eq!(from_json(&json("18446744073709551615"), &Ty::U64).unwrap(), Val::U64(u64::MAX));
    assert!(to_json(&Val::Float64(f64::NAN), &Ty::F64).is_err());
}
