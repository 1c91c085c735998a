const a = 100;
const b = a;

function add() {
  return b;
}
