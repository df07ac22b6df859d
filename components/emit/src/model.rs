//! Models to code: a call of the runtime with the addresses of the weights.

use auto_json::Value;
use auto_schema::ir::model::Linear;

use crate::code::{Body, Unit};
use crate::constants::Place;

/// A model among the constants.
pub(crate) struct Placed {
    bits: u32,
    classes: u32,
    idf: Place,
    rows: Place,
    /// Scales, biases, then ranges.
    numbers: Place,
    values: Place,
}

impl Placed {
    pub(crate) fn new(model: &Linear, unit: &mut Unit) -> Placed {
        let ranges = [model.doubt.0, model.doubt.1, model.unsure.0, model.unsure.1];
        let all = model.scales.iter().chain(&model.biases);
        let numbers: Vec<u8> = all.chain(&ranges).flat_map(|number| number.to_le_bytes()).collect();
        let constants = &mut unit.constants;
        Placed {
            bits: model.bits,
            classes: model.classes.len() as u32,
            idf: constants.bytes(&model.idf),
            rows: constants.bytes(&model.rows),
            numbers: constants.bytes(&numbers),
            values: constants.value(&Value::List(model.classes.clone())),
        }
    }

    /// Turns the handle of a list of texts into that of what the model gives.
    pub(crate) fn call(&self, body: &mut Body) {
        body.constant(self.bits);
        body.constant(self.classes);
        for place in [self.idf, self.rows, self.numbers, self.values] {
            body.address(place);
        }
        body.runtime("rt_linear");
    }
}
