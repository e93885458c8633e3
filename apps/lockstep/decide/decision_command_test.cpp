#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "command_line/command_fixture.h"
#include "lockstep/analyze/random_table.h"
#include "lockstep/report/measurements_csv.h"
#include "lockstep/serve/test_client.h"
#include "lockstep/store/run_writer.h"
#include "lockstep/store/store_fixture.h"
#include "understand/live_site.h"

namespace lockstep::cli {
namespace {

constexpr const char* kStudies[] = {"a-runtime-prediction", "b-multi-worker-classifiers",
                                    "c-data-parallel-resnet18", "d-steering-regression",
                                    "e-data-parallel-sweep"};

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

  /// The page that a server of the store answers with, over HTTP.
  nlohmann::json served() const {
    const SystemClock clock;
    serve::Server server(store(), serve::Access("127.0.0.1", ""), {.port = 0}, live_site(store()),
                         clock);
    const std::string body = serve::http_get(server.start(), "/api/page");
    server.stop();
    return nlohmann::json::parse(body, nullptr, false);
  }

  /// Every way to ask about the store gives one answer, which it returns.
  std::vector<std::string> expect_one_answer(const std::string& name) const {
    const nlohmann::json page = served();
    std::vector<std::string> shown;
    for (const auto& job : page["advice"]) shown.push_back(job["sentence"]);
    EXPECT_EQ(reported(""), shown) << name;
    // Without a time to compare `advise` explains what is missing; the others show no decision.
    if (shown.empty()) return shown;
    EXPECT_EQ(advised(""), shown) << name;
    EXPECT_NE(page["headline"].get<std::string>().find(shown.front()), std::string::npos) << name;
    return shown;
  }

  void import_table(const std::string& path) const {
    for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(store() + part);
    const CommandOutcome outcome = run({"import", path}, {&add_import_command});
    EXPECT_EQ(outcome.code, 0) << path << ": " << outcome.err;
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
  for (const char* name : kStudies) {
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
  const auto answer = expect_one_answer("stored study");
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer.front().rfind("Use 2 workers, b = 128", 0), 0u) << answer.front();
  EXPECT_NE(html("").find(answer.front()), std::string::npos);
}

TEST_F(DecisionCommand, NamesAStudyAsReportDoes) {
  write_run(1, 128, 10, 0.9);
  write_run(2, 128, 5.5, 0.9);
  const auto advise = [&](const std::string& words) {
    return run("advise " + words, {&add_advise_command});
  };
  EXPECT_EQ(advise("sweep").out, advise("--study sweep").out);
  EXPECT_NE(advise("sweep").out.find("Use 2 workers"), std::string::npos);
  EXPECT_EQ(advise("other").code, 4);
  EXPECT_EQ(advise("sweep --study sweep").code, 2);
  const std::string file = fmt::format("{}/{}.csv", LOCKSTEP_STUDIES, kStudies[0]);
  const CommandOutcome given = advise(file);
  EXPECT_EQ(given.code, 2);
  EXPECT_NE(given.err.find("lockstep advise --from " + file), std::string::npos) << given.err;
}

TEST_F(DecisionCommand, IsTheSameInReportAdviseAndServeOfTheFiveStudiesImported) {
  for (const char* name : kStudies) {
    import_table(fmt::format("{}/{}.csv", LOCKSTEP_STUDIES, name));
    const auto answer = expect_one_answer(name);
    ASSERT_FALSE(answer.empty()) << name;
    EXPECT_NE(html("").find(answer.front()), std::string::npos) << name;
  }
}

TEST_F(DecisionCommand, IsTheSameInReportAdviseAndServeOfRandomTablesImported) {
  Rng rng(2027);
  int answered = 0;
  for (int round = 0; round < 300 && !::testing::Test::HasFailure(); ++round) {
    const auto rows = analyze::random_table(rng);
    if (rows.empty()) continue;
    const std::string path = folder_ + "/table.csv";
    std::ofstream(path) << report::measurements_csv(rows);
    import_table(path);
    answered += expect_one_answer(fmt::format("table {}", round)).empty() ? 0 : 1;
  }
  EXPECT_GT(answered, 250);
}

}  // namespace
}  // namespace lockstep::cli
