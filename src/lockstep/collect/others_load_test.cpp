#include "lockstep/collect/others_load.h"

#include <gtest/gtest.h>

namespace lockstep::collect {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

store::RunSummary run_of(std::int64_t id, std::int64_t began_s, double took_s) {
  store::RunSummary run;
  run.id = id;
  run.started_wall_ns = began_s * kSecond;
  run.total_s = took_s;
  run.spec.workers = 2;
  run.spec.threads_per_worker = 1;
  return run;
}

record::Machine machine_with(double load) {
  record::Machine machine;
  machine.cores = 2;
  machine.load = load;
  return machine;
}

TEST(OthersLoad, IsReportedFromAQuarterOfTheCoresOn) {
  const std::vector<store::RunSummary> only{run_of(1, 1000, 60)};
  EXPECT_EQ(disturbing_load(only[0], machine_with(0.4), only), "");
  EXPECT_EQ(disturbing_load(only[0], machine_with(3.2), only), "load average 3.20 on 2 cores");
  record::Machine unknown = machine_with(3.2);
  unknown.cores = 0;
  EXPECT_EQ(disturbing_load(only[0], unknown, only), "");
}

TEST(OthersLoad, EarlierRunsOfTheStoreExplainTheLoadThatTheyCaused) {
  // Two threads for 5 minutes until 3 s before: 2 (exp(-3/60) - exp(-303/60)) = 1.89.
  const std::vector<store::RunSummary> runs{run_of(1, 1000, 300), run_of(2, 1303, 60)};
  EXPECT_EQ(disturbing_load(runs[1], machine_with(1.9), runs), "");
  EXPECT_EQ(disturbing_load(runs[1], machine_with(3.2), runs), "load average 3.20 on 2 cores");
  // A run that ended 10 minutes before explains nothing, nor does a later one or one imported.
  const std::vector<store::RunSummary> apart{run_of(1, 1000, 300), run_of(2, 1900, 60)};
  EXPECT_NE(disturbing_load(apart[1], machine_with(1.9), apart), "");
  EXPECT_NE(disturbing_load(runs[0], machine_with(1.9), runs), "");
  std::vector<store::RunSummary> imported = runs;
  imported[0].imported = true;
  EXPECT_NE(disturbing_load(imported[1], machine_with(1.9), imported), "");
}

}  // namespace
}  // namespace lockstep::collect
