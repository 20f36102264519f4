//! The compiled twin of the fold: from the stored bodies of a batch's traces to the sums that a worker writes. And of
//! reading page views for vitals: from the stored bodies of a view to what ran in its windows.
//!
//! The pure twins, `profcore/sums/batch_sums.py` and `profcore/vitals/view_readers.py` and what these call, are the
//! reference. This leaves to them whatever is not plainly right. Sums are `i64`: a trace spans at most `2 × `wire::MAX_TIME_MS``, and the release profile checks every addition.

#![forbid(unsafe_code)]

mod batch;
mod blobs;
mod contributions;
mod endpoint;
mod gunzip;
mod hidden;
mod json;
mod kernel;
mod marks;
mod names;
mod own;
mod paths;
mod scripts;
mod sums;
mod tables;
mod tree_sums;
mod trees;
mod view;
mod view_reader;
mod vitals;
mod weights;
mod wire;

use pyo3::prelude::*;

#[pymodule]
fn fieldflame_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("KernelPanic", py.get_type::<kernel::KernelPanic>())?;
    module.add("KernelBroken", py.get_type::<kernel::KernelBroken>())?;
    module.add_class::<endpoint::Endpoint>()?;
    module.add_class::<kernel::Kernel>()?;
    module.add_class::<tree_sums::TreeSum>()?;
    module.add_class::<view_reader::ViewReader>()?;
    module.add_function(wrap_pyfunction!(contributions::decode_first, module)?)
}
