const a = 1;
const b = 3;

function add() {
  return a + b;
}
