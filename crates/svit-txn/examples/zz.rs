//! tmp
use std::time::Instant; use svit_tree::*; use svit_value::*;
fn t<T>(n: &str, mut f: impl FnMut(usize) -> T) { for i in 0..1000 { std::hint::black_box(f(i)); } let s = Instant::now(); for i in 0..5000 { std::hint::black_box(f(i)); } println!("{n}: {} ns", s.elapsed().as_nanos() / 5000); }
fn main() {
  let p = svit_txn::Process::builder("svit://local/x").unwrap().memory("count", 1).build().unwrap();
  let tree = Tree::from_value(p.read("/").unwrap().unwrap()).unwrap();
  let path = Path::parse("/memory/count").unwrap();
  let root = tree.root().clone(); root.digest();
  t("apply", |i| apply(&root, &[Mutation::set(path.clone(), i as i64)]).unwrap());
  t("tree.apply", |i| tree.apply(&[Mutation::set(path.clone(), i as i64)]).unwrap());
  t("apply+digest", |i| apply(&root, &[Mutation::set(path.clone(), i as i64)]).unwrap().digest());
  t("apply+diff", |i| { let a = apply(&root, &[Mutation::set(path.clone(), i as i64)]).unwrap(); diff(&root, &a) });
  t("path parse", |_| Path::parse("/memory/count").unwrap());
  t("address", |_| Address::parse("svit://local/x").unwrap());
  let m = vec![Mutation::set(path.clone(), 5)];
  t("mut to value", |_| m[0].to_value().unwrap());
  t("hash 200B", |_| Digest::of(&[7u8; 200]));
  t("hash 1000B", |_| Digest::of(&[7u8; 1000]));
  let w = Instant::now(); for i in 0..5000 { p.write(&path, i as i64).unwrap(); } println!("write {}", w.elapsed().as_nanos()/5000);
  t("fork", |_| p.fork("svit://local/y").unwrap());
}
