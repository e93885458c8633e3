#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_fixture.h"
#include "lockstep/collect/run_digests.h"
#include "lockstep/report/page/page.h"
#include "lockstep/report/page/page_source.h"
#include "lockstep/store/store_fixture.h"

namespace lockstep::cli {
namespace {

/// What each command prints as its decision, one sentence per job.
class DecisionCommand : public CommandTest {
 protected:
  std::vector<std::string> advised(const std::string& source) const {
    std::istringstream lines(output("--json advise " + from(source)));
    std::vector<std::string> sentences;
    for (std::string line; std::getline(lines, line);) {
      sentences.push_back(nlohmann::json::parse(line)["sentence"]);
    }
    return sentences;
  }

  std::vector<std::string> reported(const std::string& source) const {
    std::vector<std::string> sentences;
    const auto report = nlohmann::json::parse(output("--json report " + from(source)));
    for (const auto& job : report["decision"]) sentences.push_back(job["sentence"]);
    return sentences;
  }

  /// The document inside the HTML, as the browser gets it.
  std::string html(const std::string& source) const {
    const std::string path = folder_ + "/page.html";
    output("report " + from(source) + " --html " + path);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void write_run(int workers, std::int64_t batch, double epoch_s, double accuracy) const {
    store::RunWriter writer(store(), {"sweep", fmt::format("{} {}", workers, batch), 1});
    record::RunStarted started = store::started(workers, batch);
    started.spec.data.train_examples = 60'000;
    writer.write(started);
    for (int number = 1; number <= 3; ++number) {
      record::EpochResult epoch = store::epoch(number, accuracy);
      epoch.train_s = epoch_s;
      epoch.examples_per_s = 60'000 / epoch_s;
      writer.write(epoch);
    }
    writer.write(record::RunEnded{record::RunStatus::kDone, 1, 3 * epoch_s, 0, ""});
  }

 private:
  static std::string from(const std::string& source) {
    return source.empty() ? "" : "--from " + source;
  }
  std::string output(const std::string& words) const {
    const CommandOutcome outcome = run(words, {&add_report_command, &add_advise_command});
    EXPECT_EQ(outcome.code, 0) << words << ": " << outcome.err;
    return outcome.out;
  }
};

TEST_F(DecisionCommand, IsTheSameInReportAdviseAndHtmlOfTheFiveStudies) {
  for (const char* name :
       {"a-runtime-prediction", "b-multi-worker-classifiers", "c-data-parallel-resnet18",
        "d-steering-regression", "e-data-parallel-sweep"}) {
    const std::string path = fmt::format("{}/{}.csv", LOCKSTEP_STUDIES, name);
    const auto answer = advised(path);
    ASSERT_FALSE(answer.empty()) << name;
    EXPECT_EQ(reported(path), answer) << name;
    EXPECT_NE(html(path).find(answer.front()), std::string::npos) << name;
  }
}

TEST_F(DecisionCommand, IsTheSameInReportAdviseHtmlAndServeOfAStoredStudy) {
  write_run(1, 128, 10, 0.9);
  write_run(2, 128, 5.5, 0.9);
  write_run(1, 512, 8, 0.85);
  write_run(2, 512, 4.4, 0.84);
  const auto answer = advised("");
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer.front().rfind("Use 2 workers, b = 128", 0), 0u) << answer.front();
  EXPECT_EQ(reported(""), answer);
  EXPECT_NE(html("").find(answer.front()), std::string::npos);
  // What lockstep serve answers to /api/page.
  store::Store opened(store());
  collect::RunDigests digests;
  const auto page = report::page_json(report::build_page(report::stored_page(opened, {}, digests)));
  EXPECT_EQ(page["headline"], answer.front());
}

}  // namespace
}  // namespace lockstep::cli
