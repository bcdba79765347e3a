// CTAs or clusters of an emitted Hopper kernel on the host, several at a time. Every thread is a fiber; who runs
// next, in which CTA, when a
// copy lands, when a product is computed and when a store reads its data is drawn at random, within
// what barriers and waits allow. Ordinary writes to shared memory reach copies and products only
// after a proxy fence of the writer; slots hold NaNs from the start of a copy until it lands.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "host.h"

// A stack is left and another one gone on with. The C library's contexts would do, but ask the
// kernel for signal masks every time.
#if defined(__x86_64__)
using Context = void*;
extern "C" void host_switch(Context* from, Context to);
asm(".text\n.globl host_switch\n.type host_switch, @function\nhost_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
    ".size host_switch, .-host_switch\n");
static void change(Context& from, Context& to) { host_switch(&from, to); }
static void begin(Context& context, char* stack, size_t size, void (*body)()) {
  auto top = reinterpret_cast<uintptr_t>(stack + size) & ~uintptr_t{15};
  void** at = reinterpret_cast<void**>(top) - 2;  // as after a call: 8 past a multiple of 16
  at[0] = reinterpret_cast<void*>(body);
  at[1] = nullptr;
  context = at - 6;
}
#else
#include <ucontext.h>
using Context = ucontext_t;
static void change(Context& from, Context& to) { swapcontext(&from, &to); }
static void begin(Context& context, char* stack, size_t size, void (*body)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = size;
  context.uc_link = nullptr;
  makecontext(&context, body, 0);
}
#endif

namespace {

constexpr int SHARED = 232448, STACK = 256 * 1024, WARP = 32, START = 1024;
constexpr long MOST_STEPS = 200'000'000;
constexpr uint32_t PLACE = 0xffffff;  // of an address: what lies in a CTA; the CTA stands above

struct Map {  // in the place of the driver's tensor map: innermost axis first
  uint64_t address;
  int32_t rank, element;  // element: 0 f32, 1 bf16, 2 f16, 3 one byte, 4 i32
  int32_t size[5], box[5];
  int32_t swizzled, pad;  // bytes that are swizzled among themselves, or 0
  int64_t stride[5];  // bytes
};
static_assert(sizeof(Map) <= 128);

struct Barrier { int count = 0, pending = 0, phase = 0; long bytes = 0; };
struct Named { unsigned arrived = 0, generation = 0; };
struct Copy { uint32_t to; Map map; uint32_t bar; int at[5]; uint32_t ctas; };
struct Piece { uint32_t to; const uint8_t* from; int bytes; };
struct Pieces { std::vector<Piece> all; uint32_t bar; };  // of a thread, which arrive together
struct Sent { uint32_t to, bar; float x[4]; };  // to a CTA of the cluster
struct Store { Map map; uint32_t from; int at[5]; bool add, done = false; };

struct Cta {
  HostIndex block;
  std::vector<uint8_t> memory, seen;  // as threads see it, and as copies and products do
  std::vector<std::pair<uint32_t, uint32_t>> landed;  // pieces that no fence has shown yet
  Named named[16];
  bool said[16] = {};
};

struct Product {
  int n, kind, lanes = 0;
  float* d[WARP][128];
  const uint32_t* a[WARP][4];
  uint64_t a_at, b_at;
  bool keeps, a_mn, b_mn, in_registers;
};

struct Meeting {
  unsigned generation = 0;
  int came = 0;
  uint64_t given[2][WARP];
  uint32_t read[2][WARP][4];  // what an instruction of the whole warp read as the last lane came
};

struct Thread {
  Context context;
  std::unique_ptr<char[]> stack;
  HostIndex index;
  Cta* cta = nullptr;
  bool done = false;
  const unsigned* wait_for = nullptr;  // until it is no longer `was`
  unsigned was = 0;
  Barrier* full = nullptr;  // until the phase of this parity is over
  unsigned parity = 0;
  long products = 0;
  std::vector<std::pair<uint32_t, uint32_t>> written;
  std::vector<Piece> pieces;
  std::vector<Store*> open;
  std::deque<std::vector<Store*>> groups;
};

struct Warp {
  Cta* cta = nullptr;
  Meeting meetings[WARP];
  std::deque<Product> products;  // issued and not computed
  long computed = 0;
  std::deque<long> groups;  // ends of committed groups, in numbers of products
  double speed = 1;
};

uint64_t rng;
struct Cluster { Named named; long live = 0; };  // threads that have not ended

std::vector<Cta> ctas;  // of the clusters that run
std::vector<Cluster> clusters;
uint32_t width = 1;  // CTAs of a cluster
std::vector<Thread> threads;
std::vector<Warp> warps;
std::map<uint32_t, Barrier> barriers;
std::vector<Copy> copies;
std::vector<Pieces> gathered;
std::vector<Sent> sent;
std::vector<Store*> stores;
std::deque<Store> every_store;
Context scheduler;
Thread* me = nullptr;
std::string error;
void (*entry)(void**) = nullptr;
void** arguments = nullptr;

uint64_t draw() {  // splitmix64
  uint64_t z = rng += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

double uniform() { return (double)(draw() >> 11) * 0x1p-53; }
size_t pick(size_t n) { return draw() % n; }

void leave() { change(me->context, scheduler); }

[[noreturn]] void fail(const std::string& what) {
  if (error.empty()) error = what + " (thread " + std::to_string(me ? me->index.x : 0) + ")";
  me->done = true;
  leave();
  abort();
}

bool ready(const Thread& t) {
  if (t.done) return false;
  if (t.wait_for) return *t.wait_for != t.was;
  if (t.full) return (unsigned)t.full->phase % 2 != t.parity;
  return true;
}

void wait_until_changed(const unsigned& what, unsigned was) {
  me->wait_for = &what;
  me->was = was;
  leave();
  me->wait_for = nullptr;
}

Warp& warp() { return warps[(me - threads.data()) / WARP]; }
uint32_t rank(const Cta* c) { return (uint32_t)(c - ctas.data()); }
uint32_t base(uint32_t cta) { return cta / width * width; }  // the first CTA of its cluster
// Kernels number the CTAs of their cluster; here all that run are numbered.
uint32_t whole(uint32_t at) { return (at & PLACE) | (base(rank(me->cta)) + (at >> 24)) << 24; }
uint32_t own(uint32_t at) { return (at & PLACE) | rank(me->cta) << 24; }
uint8_t* kept(uint32_t at) { return &ctas[at >> 24].memory[at & PLACE]; }
uint8_t* shown(uint32_t at) { return &ctas[at >> 24].seen[at & PLACE]; }

void check(uint32_t at, uint32_t bytes) {
  if (at >> 24 >= ctas.size()) fail("shared memory of a CTA outside the cluster");
  if ((at & PLACE) < START || (at & PLACE) + bytes > ctas[0].memory.size()) fail("shared memory outside what is allocated");
}

void write(uint32_t at, const void* from, uint32_t bytes) {
  at = own(at);
  check(at, bytes);
  memcpy(kept(at), from, bytes);
  me->written.push_back({at, bytes});
}

uint32_t swizzle(uint32_t at, int span = 128) { return at ^ ((at >> 7 & (span / 16 - 1)) << 4); }

int element_bytes(int element) { return element == 0 || element == 4 ? 4 : element == 3 ? 1 : 2; }

// Calls f(shared address, global address or null, bytes) for every run of the innermost axis.
template <class F> void each_run(const Map& m, uint32_t shared, const int* at, F f) {
  const int bytes = element_bytes(m.element), run = m.swizzled ? 16 / bytes : 1;
  long total = 1;
  for (int i = 0; i < m.rank; ++i) total *= m.box[i];
  for (long n = 0; n < total; n += run) {
    long rest = n;
    uint8_t* place = (uint8_t*)m.address;
    bool inside = true;
    int first = 0;
    for (int i = 0; i < m.rank; ++i) {
      const long x = at[i] + rest % m.box[i];
      if (i == 0) first = (int)x;
      else inside = inside && x >= 0 && x < m.size[i];
      place = (uint8_t*)((uint64_t)place + (uint64_t)x * (uint64_t)m.stride[i]);
      rest /= m.box[i];
    }
    const uint32_t to = shared + (uint32_t)(n * bytes);
    for (int j = 0; j < run; ++j) {
      const bool there = inside && first + j >= 0 && first + j < m.size[0];
      const uint32_t plain = to + j * bytes;
      f(m.swizzled ? swizzle(plain, m.swizzled) : plain, there ? place + j * bytes : nullptr, bytes);
    }
  }
}

void settle(Barrier& b) {
  if (b.pending == 0 && b.bytes == 0) { ++b.phase; b.pending = b.count; }
}

Barrier& barrier(uint32_t at) {
  auto found = barriers.find(at);
  if (found == barriers.end()) fail("a barrier that nobody initialised");
  return found->second;
}

void land(size_t which) {
  const Copy c = copies[which];
  copies.erase(copies.begin() + which);
  for (uint32_t i = 0; i < width; ++i) {
    if (!(c.ctas >> i & 1)) continue;
    const uint32_t n = base(c.to >> 24) + i;
    long bytes = 0;
    each_run(c.map, (c.to & PLACE) | n << 24, c.at, [&](uint32_t to, const uint8_t* from, int n) {
      if (from) memcpy(kept(to), from, n); else memset(kept(to), 0, n);
      memcpy(shown(to), kept(to), n);
      bytes += n;
    });
    Barrier& b = barriers[(c.bar & PLACE) | n << 24];
    b.bytes -= bytes;
    settle(b);
  }
}

void land_pieces(size_t which) {
  const Pieces p = gathered[which];
  gathered.erase(gathered.begin() + which);
  for (const Piece& x : p.all) {
    memset(kept(x.to), 0, 16);
    memcpy(kept(x.to), x.from, x.bytes);
    ctas[x.to >> 24].landed.push_back({x.to, 16});
  }
  Barrier& b = barriers[p.bar];
  if (--b.pending < 0) error = "more arrivals of copies than the barrier was initialised for";
  settle(b);
}

void arrive(size_t which) {
  const Sent s = sent[which];
  sent[which] = sent.back();
  sent.pop_back();
  memcpy(kept(s.to), s.x, sizeof(s.x));
  Barrier& b = barriers[s.bar];
  b.bytes -= sizeof(s.x);
  settle(b);
}

float number(int element, const uint8_t* p) {
  uint16_t half;
  float whole;
  switch (element) {
    case 0: memcpy(&whole, p, 4); return whole;
    case 1: memcpy(&half, p, 2); return __uint_as_float((uint32_t)half << 16);
    default: memcpy(&half, p, 2); return host_from_f16(half);
  }
}

void put(int element, uint8_t* p, float x) {
  const uint16_t half = element == 1 ? host_to_bf16(x) : host_to_f16(x);
  if (element == 0) memcpy(p, &x, 4); else memcpy(p, &half, 2);
}

void perform(Store* s) {
  if (s->done) return;
  s->done = true;
  each_run(s->map, s->from, s->at, [&](uint32_t from, uint8_t* to, int n) {
    if (!to) return;
    if (!s->add) { memcpy(to, shown(from), n); return; }
    put(s->map.element, to, number(s->map.element, to) + number(s->map.element, shown(from)));
  });
}

float byte8(uint8_t x, bool wide) {  // e5m2 (wide) or e4m3
  if (wide) return host_from_f16((uint16_t)x << 8);
  const int sign = x >> 7, exponent = x >> 3 & 15, fraction = x & 7;
  if (exponent == 15 && fraction == 7) return NAN;
  const float y = exponent ? ldexpf(8 + fraction, exponent - 10) : ldexpf(fraction, -9);
  return sign ? -y : y;
}

uint8_t to_byte8(float x, bool wide) {  // the nearest, ties to even fractions, held to what is finite
  if (x != x) return 0x7f;
  const uint8_t most = wide ? 0x7b : 0x7e, sign = std::signbit(x) ? 0x80 : 0;
  uint8_t best = 0;
  for (int n = 1; n <= most; ++n) {
    const double far = fabs((double)byte8(n, wide) - fabs((double)x));
    const double near = fabs((double)byte8(best, wide) - fabs((double)x));
    if (far < near || (far == near && n % 2 == 0)) best = n;
  }
  return sign | best;
}

float operand(int kind, const std::vector<uint8_t>& seen, uint32_t at) {
  const uint32_t place = swizzle(at);
  if (place < START || place + (kind < 2 ? 2 : 1) > seen.size()) { error = "a product reads outside shared memory"; return 0; }
  if (kind == 0) return number(1, &seen[place]);
  if (kind == 1) return number(2, &seen[place]);
  if (kind == 6) return (float)(int8_t)seen[place];
  return byte8(seen[place], kind == 3);
}

// What one side of a product of two kinds is: kinds 4 and 5 are e4m3 and e5m2, in either order.
int side_kind(int kind, bool left) {
  if (kind == 4) return left ? 2 : 3;
  return kind == 5 ? (left ? 3 : 2) : kind;
}

// The element (row along M or N, k) of an operand described as wgmma wants it, 128-byte swizzle.
float described(const Warp& w, int kind, uint64_t desc, bool mn, int row, int k) {
  const std::vector<uint8_t>& seen = w.cta->seen;
  const int size = kind < 2 ? 2 : 1;
  const uint32_t start = (uint32_t)(desc & 0x3fff) << 4;
  const uint32_t leading = (uint32_t)(desc >> 16 & 0x3fff) << 4;
  const uint32_t stride = (uint32_t)(desc >> 32 & 0x3fff) << 4;
  if (desc >> 62 != 1) error = "a descriptor without the 128-byte swizzle";
  if (mn) return operand(kind, seen, start + row / 64 * leading + k / 8 * stride + k % 8 * 128 + row % 64 * 2);
  return operand(kind, seen, start + row / 8 * stride + row % 8 * 128 + k * size);
}

float from_register(const Product& p, int row, int k) {
  const int size = p.kind < 2 ? 2 : 1, each = 4 / size;  // elements of a register
  const int lane = row % 8 * 4 + k / each % 4;
  const uint32_t x = *p.a[lane][row / 8 + k / (4 * each) * 2];
  const int part = k % each;
  uint8_t bytes[4];
  memcpy(bytes, &x, 4);
  if (size == 1) return byte8(bytes[part], p.kind == 3);
  return number(p.kind + 1, bytes + 2 * part);
}

void compute(Warp& w) {
  Product& p = w.products.front();
  const int depth = p.kind < 2 ? 16 : 32;
  const int first = (int)(&w - warps.data()) % 4 * 16;  // the warp's rows of the 64
  float a[16][32], b[32];
  for (int r = 0; r < 16; ++r)
    for (int k = 0; k < depth; ++k)
      a[r][k] = p.in_registers ? from_register(p, r, k) : described(w, side_kind(p.kind, true), p.a_at, p.a_mn, first + r, k);
  for (int n = 0; n < p.n; ++n) {
    for (int k = 0; k < depth; ++k) b[k] = described(w, side_kind(p.kind, false), p.b_at, p.b_mn, n, k);
    for (int r = 0; r < 16; ++r) {
      float* d = p.d[r % 8 * 4 + n % 8 / 2][n / 8 * 4 + r / 8 * 2 + n % 2];
      if (p.kind == 6) {
        int whole = 0;
        if (p.keeps) memcpy(&whole, d, 4);
        for (int k = 0; k < depth; ++k) whole += (int)a[r][k] * (int)b[k];
        memcpy(d, &whole, 4);
        continue;
      }
      float sum = p.keeps ? *d : 0.0f;
      for (int k = 0; k < depth; ++k) sum += a[r][k] * b[k];
      *d = sum;
    }
  }
  w.products.pop_front();
  ++w.computed;
}

bool something_else() {  // an event of the copy engine or the tensor cores
  std::vector<int> kinds;
  if (!copies.empty()) kinds.push_back(0);
  if (!gathered.empty()) kinds.push_back(3);
  if (!sent.empty()) kinds.push_back(4);
  if (!stores.empty()) kinds.push_back(1);
  std::vector<Warp*> busy;
  for (Warp& w : warps)
    if (!w.products.empty() && w.products.front().lanes == WARP) busy.push_back(&w);
  if (!busy.empty()) kinds.push_back(2);
  if (kinds.empty()) return false;
  switch (kinds[pick(kinds.size())]) {
    case 0: land(pick(copies.size())); break;
    case 3: land_pieces(pick(gathered.size())); break;
    case 4: arrive(pick(sent.size())); break;
    case 1: {
      const size_t n = pick(stores.size());
      Store* s = stores[n];
      stores.erase(stores.begin() + n);
      perform(s);
      break;
    }
    default: compute(*busy[pick(busy.size())]);
  }
  return true;
}

// What a cluster leaves unfinished.
std::string left_by(uint32_t which) {
  const auto mine = [&](uint32_t at) { return (at >> 24) / width == which; };
  for (Warp& w : warps)
    if (rank(w.cta) / width == which && !w.products.empty()) return "the CTA exits with products in flight";
  bool flies = false;
  for (const Copy& c : copies) flies = flies || mine(c.to);
  for (const Pieces& p : gathered) flies = flies || mine(p.bar);
  for (const Sent& x : sent) flies = flies || mine(x.to);
  if (flies) return "the CTA exits with copies in flight";
  for (const Store* x : stores)
    if (!x->done && mine(x->from)) return "the CTA exits before a store read its data";
  return "";
}

void body() {
  entry(arguments);
  me->done = true;
  const uint32_t which = rank(me->cta) / width;
  if (--clusters[which].live == 0 && error.empty()) error = left_by(which);
  leave();
}

bool run_warp(size_t w) {
  bool moved = false;
  const size_t shift = pick(WARP);
  for (int n = 0; n < WARP; ++n) {
    Thread& t = threads[w * WARP + (n + shift) % WARP];
    if (!ready(t)) continue;
    me = &t;
    host_thread = &t.index;
    host_block = &t.cta->block;
    change(scheduler, t.context);
    me = nullptr;
    moved = true;
    if (!error.empty()) return moved;
  }
  return moved;
}

void new_speeds() {
  for (Warp& w : warps) w.speed = exp2(uniform() * 12 - 6);
}

size_t next_warp() {
  double total = 0;
  for (Warp& w : warps) total += w.speed;
  double at = uniform() * total;
  for (size_t i = 0; i < warps.size(); ++i)
    if ((at -= warps[i].speed) <= 0) return i;
  return warps.size() - 1;
}

std::string waiting() {  // who waits for what, a word a warp
  std::string said;
  for (size_t w = 0; w < warps.size(); ++w) {
    std::string last;
    for (int lane = 0; lane < WARP; ++lane) {
      const Thread& t = threads[w * WARP + lane];
      std::string what = t.done ? " done" : " warp";
      if (t.full) {
        for (auto& [at, b] : barriers)
          if (&b == t.full) what = " mbarrier" + std::to_string(at);
      }
      for (int i = 0; i < 16; ++i)
        if (t.wait_for == &t.cta->named[i].generation) what = " barrier" + std::to_string(i) + "(" + std::to_string(t.cta->named[i].arrived) + " came)";
      if (t.wait_for == &clusters[rank(t.cta) / width].named.generation) what = " cluster";
      if (what != last) said += what + "/" + std::to_string(lane);
      last = what;
    }
    said += " |";
  }
  return said;
}

void run_all() {
  const double eager = exp2(-uniform() * 6);  // how soon copies, stores and products happen
  new_speeds();
  for (long step = 0; error.empty(); ++step) {
    if (step % 512 == 511) new_speeds();
    if (uniform() < eager) something_else();
    if (run_warp(next_warp())) continue;
    bool moved = false, live = false;
    for (size_t w = 0; w < warps.size() && !moved && error.empty(); ++w) moved = run_warp(w);
    for (Thread& t : threads) live = live || !t.done;
    if (!live) break;
    if (step > MOST_STEPS) error = "no end:" + waiting();
    if (!moved && !something_else() && error.empty()) error = "deadlock:" + waiting();
  }
}

}  // namespace

HostIndex* host_thread = nullptr;
HostIndex *host_block = nullptr, host_grid;

// Lanes meet; the last one acts for all of them. Which of the two sets of values they left.
template <class F> int meet(Meeting& m, int lanes, uint64_t mine, F act) {
  const unsigned generation = m.generation;
  m.given[generation % 2][me->index.x % WARP] = mine;
  if (++m.came == lanes) {
    act(generation % 2);
    m.came = 0;
    ++m.generation;
  } else {
    wait_until_changed(m.generation, generation);
  }
  return generation % 2;
}

const host_u64* host_exchange(host_u32 mask, host_u64 mine) {
  Meeting& m = warp().meetings[__builtin_ctz(mask)];
  const int side = meet(m, __builtin_popcount(mask), mine, [](int) {});
  return (const host_u64*)m.given[side];
}

void __syncwarp(host_u32 mask) { host_exchange(mask, 0); }

bool __all_sync(host_u32 mask, bool x) {
  const host_u64* all = host_exchange(mask, x);
  for (int i = 0; i < WARP; ++i)
    if (mask >> i & 1 && !all[i]) return false;
  return true;
}

void __syncthreads() { host_bar_sync(0, (host_u32)(threads.size() / ctas.size())); }
unsigned char* host_shared() { return &me->cta->memory[START]; }
host_u32 host_shared_address(const void* p) {
  const uint32_t cta = rank(me->cta);
  return (host_u32)((const uint8_t*)p - me->cta->memory.data()) | (cta - base(cta)) << 24;
}
void host_trap() { fail("trap"); }
host_u32 host_elect() { host_exchange(~0u, 0); return me->index.x % WARP == 0; }

void host_mbar_init(host_u32 at, host_u32 count) {
  at = own(at);
  check(at, 8);
  if (at % 8) fail("a misaligned barrier");
  barriers[at] = Barrier{(int)count, (int)count, 0, 0};
}

void host_mbar_expect(host_u32 at, host_u32 bytes) {
  barrier(whole(at)).bytes += bytes;
  host_mbar_arrive(at);
}

void host_mbar_arrive(host_u32 at) {
  Barrier& b = barrier(whole(at));
  if (--b.pending < 0) fail("more arrivals than the barrier was initialised for");
  settle(b);
}

void host_mbar_arrive_at(host_u32 at, host_u32 cta) {
  if (cta >= width) fail("an arrival at a CTA outside the cluster");
  host_mbar_arrive((at & PLACE) | cta << 24);
}

host_u32 host_at_cta(host_u32 at, host_u32 cta) {
  if (cta >= width) fail("an address in a CTA outside the cluster");
  return (at & PLACE) | cta << 24;
}

void host_send(host_u32 to, const float* x, host_u32 bar) {
  to = whole(to), bar = whole(bar);
  check(to, 16);
  if (to % 16) fail("sent to a misaligned place");
  if (to >> 24 != bar >> 24) fail("the barrier of another CTA counts what is sent");
  barrier(bar);
  memset(kept(to), 0xff, 16);
  sent.push_back({to, bar, {x[0], x[1], x[2], x[3]}});
}

host_u32 host_mbar_wait(host_u32 at, host_u32 parity) {
  Barrier& b = barrier(whole(at));
  if ((unsigned)b.phase % 2 == parity) {
    me->full = &b;
    me->parity = parity;
    leave();
    me->full = nullptr;
  }
  return 1;
}

static bool arrived(Named& n, unsigned count) {
  if (++n.arrived < count) return false;
  n.arrived = 0;
  ++n.generation;
  return true;
}

static void joined(Named& n, unsigned count) {
  const unsigned generation = n.generation;
  if (!arrived(n, count)) wait_until_changed(n.generation, generation);
}

void host_bar_sync(host_u32 id, host_u32 count) { joined(me->cta->named[id], count); }
void host_bar_arrive(host_u32 id, host_u32 count) { arrived(me->cta->named[id], count); }
void host_cluster_sync() {
  const unsigned count = (unsigned)(threads.size() / ctas.size() * width);
  joined(clusters[rank(me->cta) / width].named, count);
}

bool host_bar_any(host_u32 id, bool x) {
  bool& said = me->cta->said[id];
  said |= x;
  host_bar_sync(id, 128);
  const bool found = said;
  host_bar_sync(id, 128);
  said = false;
  host_bar_sync(id, 128);
  return found;
}

void host_proxy_fence() {
  for (auto [at, bytes] : me->written) memcpy(shown(at), kept(at), bytes);
  me->written.clear();
  for (auto [at, bytes] : me->cta->landed) memcpy(shown(at), kept(at), bytes);
  me->cta->landed.clear();
}

void host_copy(host_u32 to, const void* from, int bytes) {
  to = own(to);
  check(to, 16);
  if (to % 16 || (uint64_t)from % 16) fail("a copy of 16 bytes from or to a misaligned place");
  memset(kept(to), 0xff, 16);
  memset(shown(to), 0xff, 16);
  me->pieces.push_back({to, (const uint8_t*)from, bytes});
}

void host_copies_arrive(host_u32 bar) {
  bar = own(bar);
  barrier(bar);
  gathered.push_back({me->pieces, bar});
  me->pieces.clear();
}

// What the chip was seen to take for illegal instructions, besides what its manual says.
static void check_copy(const Map& m, const int* at, bool stores) {
  if (at[0] * element_bytes(m.element) % 16) fail("a copy begins inside 16 bytes of a row");
  for (int i = 0; stores && i < m.rank; ++i)
    if (at[i] < 0) fail("a copy out begins before the tensor");
}

void host_tma_load(host_u32 to, const void* map, host_u32 bar, int rank, const int* at, host_u32 mask) {
  to = own(to), bar = own(bar);
  Copy c{to, *(const Map*)map, bar, {}, mask ? mask : 1u << ((to >> 24) - base(to >> 24))};
  check_copy(c.map, at, false);
  if (c.map.rank != rank) fail("a tensor map of another rank");
  if ((uint64_t)c.ctas >> width) fail("a copy to a CTA outside the cluster");
  if (c.map.swizzled ? to % 1024 : to % 128) fail("a copy to a misaligned place");
  memcpy(c.at, at, rank * sizeof(int));
  barrier(bar);
  long bytes = 1;
  for (int i = 0; i < rank; ++i) bytes *= c.map.box[i];
  bytes *= element_bytes(c.map.element);
  check(to, (uint32_t)bytes);
  for (uint32_t i = 0; i < width; ++i) {
    if (!(c.ctas >> i & 1)) continue;
    const uint32_t n = base(to >> 24) + i;
    barrier((bar & PLACE) | n << 24);
    memset(kept((to & PLACE) | n << 24), 0xff, bytes);
    memset(shown((to & PLACE) | n << 24), 0xff, bytes);
  }
  copies.push_back(c);
}

void host_tma_store(const void* map, host_u32 from, int rank, const int* at, bool add) {
  Store s{*(const Map*)map, own(from), {}, add};
  check_copy(s.map, at, true);
  if (s.map.rank != rank) fail("a tensor map of another rank");
  memcpy(s.at, at, rank * sizeof(int));
  every_store.push_back(s);
  stores.push_back(&every_store.back());
  me->open.push_back(&every_store.back());
}

void host_bulk_commit() {
  me->groups.push_back(me->open);
  me->open.clear();
}

void host_bulk_wait(int pending) {
  while ((int)me->groups.size() > pending) {
    for (Store* s : me->groups.front()) perform(s);
    me->groups.pop_front();
  }
  std::vector<Store*> left;
  for (Store* s : stores)
    if (!s->done) left.push_back(s);
  stores = left;
}

void host_ldmatrix(host_u32* out, host_u32 at) {
  Meeting& m = warp().meetings[0];
  check(at, 16);
  const int side = meet(m, WARP, at, [&](int now) {
    for (int lane = 0; lane < WARP; ++lane)
      for (int q = 0; q < 4; ++q)
        memcpy(&m.read[now][lane][q], kept(own((uint32_t)m.given[now][8 * q + lane / 4] + lane % 4 * 4)), 4);
  });
  memcpy(out, m.read[side][me->index.x % WARP], 16);
}

void host_stmatrix(host_u32 at, const host_u32* x) {
  const host_u64* places = host_exchange(~0u, at);
  const int lane = me->index.x % WARP;
  uint32_t to[4];
  for (int q = 0; q < 4; ++q) to[q] = (uint32_t)places[8 * q + lane / 4];
  for (int q = 0; q < 4; ++q) write(to[q] + lane % 4 * 4, &x[q], 4);
}

void host_store_shared2(host_u32 at, float a, float b) {
  const float both[2] = {a, b};
  write(at, both, 8);
}

void host_store_shared(host_u32 at, const void* from, int bytes) { write(at, from, bytes); }

void host_load_shared2(host_u32 at, float* a, float* b) {
  check(at, 8);
  at = own(at);
  memcpy(a, kept(at), 4);
  memcpy(b, kept(at + 4), 4);
}

void host_load_shared(host_u32 at, void* to, int bytes) {
  check(at, (uint32_t)bytes);
  memcpy(to, kept(own(at)), bytes);
}

void host_pause() { leave(); }

void host_wgmma(int n, int kind, float* const* d, const host_u32* const* a, host_u64 a_at,
                host_u64 b_at, bool keeps, bool a_mn, bool b_mn) {
  Warp& w = warp();
  const size_t place = (size_t)(me->products++ - w.computed);
  if (place == w.products.size()) {
    w.products.push_back(Product{});
    Product& p = w.products.back();
    p.n = n, p.kind = kind, p.a_at = a_at, p.b_at = b_at;
    p.keeps = keeps, p.a_mn = a_mn, p.b_mn = b_mn, p.in_registers = a != nullptr;
  }
  Product& p = w.products[place];
  if (p.n != n || p.a_at != a_at || p.b_at != b_at || p.keeps != keeps) fail("lanes differ in a product");
  const int lane = me->index.x % WARP;
  for (int i = 0; i < n / 2; ++i) p.d[lane][i] = d[i];
  for (int i = 0; a && i < 4; ++i) p.a[lane][i] = a[i];
  ++p.lanes;
}

void host_wgmma_commit() {
  host_exchange(~0u, 0);
  if (me->index.x % WARP == 0) warp().groups.push_back(me->products);
}

void host_wgmma_wait(int pending) {
  host_exchange(~0u, 0);
  Warp& w = warp();
  if (me->index.x % WARP == 0) {
    while ((int)w.groups.size() > pending) {
      while (w.computed < w.groups.front()) compute(w);
      w.groups.pop_front();
    }
  }
  host_exchange(~0u, 0);
}

host_u16 host_to_bf16(float x) {
  uint32_t bits = host_bits(x);
  if (std::isnan(x)) return 0x7fff;
  bits += 0x7fff + (bits >> 16 & 1);
  return (host_u16)(bits >> 16);
}

host_u16 host_to_f16(float x) {
  const _Float16 y = (_Float16)x;
  host_u16 bits;
  memcpy(&bits, &y, 2);
  return bits;
}

float host_from_f16(host_u16 x) {
  _Float16 y;
  memcpy(&y, &x, 2);
  return (float)y;
}

host_u16 host_to_two_bytes(float high, float low, bool wide) {
  return (host_u16)(to_byte8(high, wide) << 8 | to_byte8(low, wide));
}

host_u32 host_from_two_bytes(host_u16 x, bool wide) {
  return (host_u32)host_to_f16(byte8(x >> 8, wide)) << 16 | host_to_f16(byte8(x & 255, wide));
}

// Runs all clusters of a grid, some at a time; an error's text, or null.
static unsigned shuffled = 0;  // the seed of the order in which CTAs run; 0: as they are numbered
extern "C" void host_shuffle(unsigned seed) { shuffled = seed; }

static int resident = 0;  // CTAs that run at a time; 0: one cluster
extern "C" void host_resident(int count) { resident = count; }

// Threads of some clusters, in the order they are given.
static void start(const std::vector<int>& blocks, int size, int count, int shared_bytes) {
  const int every = (int)blocks.size() * size;
  width = (uint32_t)size;
  ctas.resize(every);
  for (int n = 0; n < every; ++n) {
    ctas[n].block.x = (unsigned)(blocks[n / size] + n % size);
    ctas[n].memory.assign(START + shared_bytes, 0xff);
    ctas[n].seen = ctas[n].memory;
    ctas[n].landed.clear();
    for (Named& x : ctas[n].named) x = Named{};
    for (bool& x : ctas[n].said) x = false;
  }
  clusters.assign(blocks.size(), Cluster{});
  for (Cluster& c : clusters) c.live = (long)size * count;
  barriers.clear();
  copies.clear(), gathered.clear(), sent.clear(), stores.clear(), every_store.clear();
  warps.assign(every * count / WARP, Warp{});
  threads.resize(every * count);
  for (size_t w = 0; w < warps.size(); ++w) warps[w].cta = &ctas[w * WARP / count];
  for (int i = 0; i < every * count; ++i) {
    Thread& t = threads[i];
    std::unique_ptr<char[]> stack = std::move(t.stack);
    t = Thread{};
    t.stack = stack ? std::move(stack) : std::unique_ptr<char[]>(new char[STACK]);
    t.index.x = (unsigned)(i % count);
    t.cta = &ctas[i / count];
    begin(t.context, t.stack.get(), STACK, body);
  }
}

extern "C" const char* host_run(void (*kernel)(void**), void** given, int grid, int count,
                                int shared_bytes, int size, unsigned seed) {
  static std::string said;
  rng = seed;
  error.clear();
  entry = kernel;
  arguments = given;
  host_grid.x = (unsigned)grid;
  std::vector<int> order;
  for (int block = 0; block < grid; block += size) order.push_back(block);
  if (shuffled) std::shuffle(order.begin(), order.end(), std::minstd_rand(shuffled));
  const size_t together = std::max(1, std::min(resident, 255) / size);
  for (size_t first = 0; first < order.size() && error.empty(); first += together) {
    const size_t last = std::min(order.size(), first + together);
    start({order.begin() + first, order.begin() + last}, size, count, shared_bytes);
    run_all();
  }
  said = error;
  return said.empty() ? nullptr : said.c_str();
}
