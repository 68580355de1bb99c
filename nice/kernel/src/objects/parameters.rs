// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of a control, as the BPF programs read them: `struct policy_parameters`.

pub use netnice_parameters::exchange::Parameters;

use netnice_parameters::{ControlParameters, ParameterError};

use crate::objects::control::Control;

impl Control {
    /// Converts parameters of this control to the form of its program.
    ///
    /// # Errors
    /// If the control does not accept one of them, or its value; the error names the allowed ones.
    pub fn parameters(self, given: &ControlParameters) -> Result<Parameters, ParameterError> {
        netnice_parameters::kernel_parameters(self.name(), given)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use libbpf_rs::btf::types::{Int, MemberAttr, Struct};
    use libbpf_rs::btf::{Btf, BtfType, HasSize};
    use netnice_parameters::PARAMETERS;

    use super::*;

    /// Checks the offset and size of each member as clang compiled the struct for BPF.
    #[test]
    fn the_rows_are_the_members_of_the_programs_struct() {
        let file = concat!(env!("OUT_DIR"), "/attachment.bpf.o");
        let types = Btf::from_path(file).unwrap();
        let found: Struct<'_> = types.type_by_name("policy_parameters").unwrap();
        let compiled: BTreeMap<String, (usize, usize)> = found
            .iter()
            .map(|member| {
                let MemberAttr::Normal { offset } = member.attr else {
                    panic!("a bit field");
                };
                let name = member.name.unwrap().to_str().unwrap().to_owned();
                let found: BtfType<'_> = types.type_by_id(member.ty).unwrap();
                let integer = Int::try_from(found.skip_mods_and_typedefs());
                let bytes = integer.map_or(0, |integer| usize::from(integer.bits) / 8);
                (name, (offset as usize / 8, bytes))
            })
            .filter(|(name, _)| name != "reserved")
            .collect();
        let rows = PARAMETERS.iter().filter_map(|row| row.member);
        let rows = rows.map(|member| (member.name.to_owned(), (member.offset, member.bytes)));
        assert_eq!(compiled, rows.collect());
        assert_eq!(found.size(), size_of::<Parameters>());
    }

    #[test]
    fn every_control_takes_the_parameters_of_its_rows() {
        for control in Control::all() {
            for row in PARAMETERS {
                let own = netnice_parameters::of(control.name()).find(|own| own.name == row.name);
                // A parameter of the same name of another control.
                if own.is_some_and(|own| own != row) {
                    continue;
                }
                let given = ControlParameters::new().with(row.name, row.kind.default());
                let taken = control.parameters(&given);
                let settable = own.is_some() && row.member.is_some();
                let name = control.name();
                assert_eq!(taken.is_ok(), settable, "{} of {name}: {taken:?}", row.name);
            }
        }
    }
}
