// A range of work-items over a folded grid.
fn item_index(group: vec3<u32>, groups: vec3<u32>, local: u32) -> u32 {
  return (group.x + group.y * groups.x) * ${GROUP}u + local;
}
