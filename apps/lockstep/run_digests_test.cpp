#include "run_digests.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command_fixture.h"
#include "lockstep/report/page/digest_text.h"
#include "page_source.h"

namespace lockstep::cli {
namespace {

class RunDigestsTest : public CommandTest {
 protected:
  void write_run(std::int64_t steps) const {
    store::RunWriter writer(store(), {"study", "cell", 0});
    record::RunStarted start;
    start.spec.recipe = "fashion";
    start.spec.workers = 2;
    start.spec.batch_per_worker = 32;
    start.started_wall_ns = 5;
    writer.write(start);
    record::StepBlock block;
    for (std::int64_t s = 0; s < steps; ++s) {
      for (int rank = 0; rank < 2; ++rank) {
        record::StepTimes one;
        one.step = s;
        one.rank = rank;
        one.start_ns = 1000 + s * 10'000'000;
        one.ready_ns = one.start_ns + 1'000'000 * (1 + (s + rank) % 3);
        one[record::Phase::kForward] = 0.001 * static_cast<double>(1 + s % 7);
        one[record::Phase::kWait] = 0.0005 * rank;
        one.total_s = one[record::Phase::kForward] + one[record::Phase::kWait];
        block.steps.push_back(one);
      }
    }
    writer.write(block);
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  }

  /// The page of all runs, as one who opens the store for the first time sees it.
  std::string page() const {
    store::Store opened(store());
    RunDigests digests;
    report::PageSource source = stored_page(opened, {}, digests);
    source.made_wall_ns = 0;
    return report::page_json(report::build_page(source)).dump();
  }

  std::optional<std::string> kept() const {
    return store::Store(store()).step_digest(1, report::kDigestForm);
  }
};

TEST_F(RunDigestsTest, ThePageOfALongRunIsTheSameFromItsStepsAndFromWhatWasKeptOfThem) {
  write_run(10'000);
  EXPECT_FALSE(kept().has_value());
  const std::string from_steps = page();
  ASSERT_TRUE(kept().has_value());
  EXPECT_EQ(page(), from_steps);
}

TEST_F(RunDigestsTest, NothingIsKeptOfAShortRun) {
  write_run(100);
  keep_digest(store(), 1);
  page();
  EXPECT_FALSE(kept().has_value());
}

TEST_F(RunDigestsTest, ADigestInMemoryIsNotTakenForARunOfTheSameNumberInAnotherStore) {
  write_run(100);
  RunDigests digests;
  const auto steps_of_first = [&] {
    store::Store opened(store());
    return digests.of(store(), opened.runs()).front().steps.steps;
  };
  EXPECT_EQ(steps_of_first(), 100);
  EXPECT_EQ(steps_of_first(), 100);
  std::filesystem::rename(store(), store() + ".old");
  store::RunWriter writer(store(), {"study", "cell", 0});
  record::RunStarted start;
  start.started_wall_ns = 6;
  writer.write(start);
  writer.write(record::RunEnded{record::RunStatus::kDone, 1, 10, 0, ""});
  EXPECT_EQ(steps_of_first(), 0);
}

}  // namespace
}  // namespace lockstep::cli
