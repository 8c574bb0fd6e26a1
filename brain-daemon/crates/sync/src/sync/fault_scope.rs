//! Which faults are about one page, so that the others can go on.

use brain_protocol::FaultCode;

/// Returns whether a fault is about one page, and not about the disk or the whole store.
pub(super) fn is_of_one_page(code: FaultCode) -> bool {
    use FaultCode as C;
    !matches!(
        code,
        C::DiskFull | C::ReadOnly | C::Io | C::Cancelled | C::Internal | C::StoreDamaged
    )
}
