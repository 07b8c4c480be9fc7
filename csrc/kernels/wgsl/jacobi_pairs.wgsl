// Who meets whom in a round of a tournament of an even number of players, 0 to players - 1: all of
// them in each round, and each pair in one of players - 1 rounds. The smaller one comes first.
fn player(i: u32, round: u32, players: u32) -> u32 {
  return select((i + round - 1u) % (players - 1u) + 1u, 0u, i == 0u);
}
fn pair_of(k: u32, round: u32, players: u32) -> vec2<u32> {
  let one = player(k, round, players);
  let other = player(players - 1u - k, round, players);
  return vec2<u32>(min(one, other), max(one, other));
}
