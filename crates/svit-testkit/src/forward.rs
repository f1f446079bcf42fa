//! `forward_to_store!`: the calls that a store around another one passes on as they are.

/// Writes those methods of [`ProcessStore`](svit_txn::ProcessStore) that call the store in a field and
/// do nothing else. For stores of tests that change only some of the calls; the crate that uses it
/// needs `svit-txn`, `svit-tree` and `svit-value`.
///
/// ```
/// use svit_txn::{MemoryStore, ProcessStore};
///
/// struct Quiet(MemoryStore);
///
/// impl ProcessStore for Quiet {
///     svit_testkit::forward_to_store!(0: insert_base load claim append records events receipt blocks
///         put_checkpoint checkpoints cut forks trim_events delete collect addresses);
/// }
/// ```
#[macro_export]
macro_rules! forward_to_store {
    ($field:tt: $($method:ident)*) => {
        $($crate::forward_to_store!(@one $field $method);)*
    };
    (@fn $field:tt $method:ident($($name:ident: $type:ty),*) -> $answer:ty) => {
        fn $method(
            &self,
            $($name: $type),*
        ) -> ::svit_txn::BoxFuture<'_, ::svit_txn::StoreResult<$answer>> {
            self.$field.$method($($name),*)
        }
    };
    (@one $field:tt insert_base) => {
        $crate::forward_to_store! { @fn $field insert_base(
            base: ::svit_txn::Base,
            blocks: Vec<::svit_txn::Block>,
            batch: ::svit_txn::Batch
        ) -> u64 }
    };
    (@one $field:tt load) => {
        $crate::forward_to_store! { @fn $field load(
            address: &::svit_tree::Address
        ) -> ::svit_txn::Head }
    };
    (@one $field:tt claim) => {
        $crate::forward_to_store! { @fn $field claim(
            address: &::svit_tree::Address
        ) -> ::svit_txn::Head }
    };
    (@one $field:tt append) => {
        $crate::forward_to_store! { @fn $field append(
            address: &::svit_tree::Address,
            expected: ::svit_value::Digest,
            epoch: u64,
            batch: ::svit_txn::Batch
        ) -> () }
    };
    (@one $field:tt records) => {
        $crate::forward_to_store! { @fn $field records(
            address: &::svit_tree::Address,
            query: ::svit_txn::RecordQuery
        ) -> Vec<::svit_txn::StoredRecord> }
    };
    (@one $field:tt events) => {
        $crate::forward_to_store! { @fn $field events(
            address: &::svit_tree::Address,
            query: ::svit_txn::EventQuery
        ) -> Vec<::svit_txn::ThreadEvent> }
    };
    (@one $field:tt receipt) => {
        $crate::forward_to_store! { @fn $field receipt(
            address: &::svit_tree::Address,
            key: &::svit_txn::ReceiptKey
        ) -> Option<::svit_txn::Receipt> }
    };
    (@one $field:tt blocks) => {
        $crate::forward_to_store! { @fn $field blocks(
            digests: Vec<::svit_value::Digest>
        ) -> Vec<Option<Vec<u8>>> }
    };
    (@one $field:tt put_checkpoint) => {
        $crate::forward_to_store! { @fn $field put_checkpoint(
            address: &::svit_tree::Address,
            part: ::svit_txn::CheckpointPart
        ) -> () }
    };
    (@one $field:tt checkpoints) => {
        $crate::forward_to_store! { @fn $field checkpoints(
            address: &::svit_tree::Address,
            at_or_before: u64,
            limit: usize
        ) -> Vec<::svit_txn::Checkpoint> }
    };
    (@one $field:tt cut) => {
        $crate::forward_to_store! { @fn $field cut(
            address: &::svit_tree::Address,
            epoch: u64,
            base: ::svit_txn::Base
        ) -> () }
    };
    (@one $field:tt forks) => {
        $crate::forward_to_store! { @fn $field forks(
            address: &::svit_tree::Address,
            below: u64,
            limit: usize
        ) -> Vec<::svit_txn::ForkRef> }
    };
    (@one $field:tt trim_events) => {
        $crate::forward_to_store! { @fn $field trim_events(
            address: &::svit_tree::Address,
            epoch: u64,
            before: u64
        ) -> () }
    };
    (@one $field:tt delete) => {
        $crate::forward_to_store! { @fn $field delete(
            address: &::svit_tree::Address,
            epoch: u64
        ) -> () }
    };
    (@one $field:tt collect) => {
        $crate::forward_to_store! { @fn $field collect(
            steps: u64
        ) -> ::svit_txn::Collected }
    };
    (@one $field:tt addresses) => {
        $crate::forward_to_store! { @fn $field addresses(
            after: Option<&::svit_tree::Address>,
            limit: usize
        ) -> Vec<::svit_tree::Address> }
    };
}
