// One arm under Google Benchmark; the environment names it, options are its own command line's.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>

struct Arm;
extern "C" {
Arm *duel_open(const char *arm_case, uint64_t percent);
void duel_call(Arm *arm);
void duel_close(Arm *arm);
}

static void kernel(benchmark::State &state) {
  const char *arm_case = std::getenv("DUEL_CASE");
  const char *percent = std::getenv("DUEL_PERCENT");
  Arm *arm = arm_case && percent ? duel_open(arm_case, std::strtoull(percent, nullptr, 10)) : nullptr;
  if (arm == nullptr) {
    state.SkipWithError("DUEL_CASE and DUEL_PERCENT name no arm");
    return;
  }
  for (auto _ : state) duel_call(arm);
  duel_close(arm);
}
// Kernels on two threads are judged by the wall clock, so all are.
BENCHMARK(kernel)->UseRealTime();
BENCHMARK_MAIN();
