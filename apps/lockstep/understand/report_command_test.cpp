#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "command_line/command_fixture.h"
#include "lockstep/import/measurements_table.h"
#include "lockstep/record/event.h"
#include "lockstep/report/page/assets.h"
#include "lockstep/store/run_writer.h"

namespace lockstep::cli {
namespace {

class ReportCommand : public CommandTest {
 protected:
  CommandOutcome call(const std::string& words) const {
    return run(words, {&add_report_command, &add_audit_command});
  }

  std::string table(const std::string& text) const {
    const std::string path = folder_ + "/table.csv";
    std::ofstream(path) << text;
    return path;
  }

  /// A finished run whose epochs, the first apart, take `epoch_s`.
  void add_run(int workers, double epoch_s, const std::string& study = "",
               record::RunStatus status = record::RunStatus::kDone) const {
    store::RunWriter writer(store(), {study, "cell", 0});
    record::RunStarted start;
    start.spec.recipe = "fashion";
    start.spec.data = {"fashion-mnist", "/data", false, 60'000, 10'000};
    start.spec.workers = workers;
    start.spec.batch_per_worker = 32;
    start.spec.epochs = 3;
    start.spec.parameters = 1000;
    writer.write(start);
    for (int number = 1; number <= 3; ++number) {
      record::EpochResult epoch;
      epoch.epoch = number;
      epoch.train_s = number == 1 ? 10 * epoch_s : epoch_s;
      epoch.examples = 60'000;
      epoch.examples_per_s = 60'000 / epoch.train_s;
      epoch.val_accuracy = 0.9;
      writer.write(epoch);
    }
    writer.write(record::RunEnded{status, 1, 12 * epoch_s, 0, ""});
  }
};

const char* const kTable =
    "model,dataset,device,workers,global_batch,examples,metric,value,unit\n"
    "net,data,gpu,1,32,1000,epoch_time,40,s\n"
    "net,data,gpu,2,32,1000,epoch_time,25,s\n"
    "net,data,gpu,2,32,1000,reported_speedup,0.625,\n";

TEST_F(ReportCommand, ReportsATableAsTextWithVerdict) {
  const CommandOutcome outcome = call("report --from " + table(kTable));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("strong scaling (B fixed, b = B/N); baseline T(1) at the same B"),
            std::string::npos);
  EXPECT_NE(outcome.out.find("1.600"), std::string::npos);
  EXPECT_NE(outcome.out.find("Verdict"), std::string::npos);
}

TEST_F(ReportCommand, EveryFormatHasTheSameContent) {
  const std::string file = table(kTable);
  const auto json = nlohmann::json::parse(call("report --json --from " + file).out);
  EXPECT_DOUBLE_EQ(json["tables"][0]["rows"][1]["speedup"].get<double>(), 1.6);
  EXPECT_FALSE(json["verdict"].empty());
  EXPECT_NE(call("report --format markdown --from " + file).out.find("| 1.600 |"),
            std::string::npos);
  EXPECT_NE(call("report --format latex --from " + file).out.find(" & 1.600 & "),
            std::string::npos);
  EXPECT_EQ(call("report --format docx --from " + file).code, 2);
}

TEST_F(ReportCommand, WritesOneHtmlFileWithItsDataAndAPolicy) {
  const std::string file = folder_ + "/page.html";
  const CommandOutcome outcome = call("report --from " + table(kTable) + " --html " + file);
  if (!report::page_assets()) {  // built without Node
    EXPECT_EQ(outcome.code, 3);
    EXPECT_NE(outcome.err.find("built without the page"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(file));
    return;
  }
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(outcome.out.empty());
  EXPECT_NE(outcome.err.find(file), std::string::npos);
  std::ifstream in(file);
  const std::string html{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(html.find("Content-Security-Policy"), std::string::npos);
  const std::string opening = "<script type=\"application/json\" id=\"page-data\">";
  const std::size_t at = html.find(opening);
  ASSERT_NE(at, std::string::npos);
  const std::size_t from = at + opening.size();
  const auto page = nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
  EXPECT_EQ(page["title"], "table");
  EXPECT_FALSE(page["findings"].empty());
}

TEST_F(ReportCommand, ReportsWhichFileTheHtmlCannotBeWrittenTo) {
  const CommandOutcome outcome =
      call("report --from " + table(kTable) + " --html " + folder_ + "/none/page.html");
  EXPECT_NE(outcome.code, 0);
  if (report::page_assets()) {
    EXPECT_NE(outcome.err.find("none/page.html"), std::string::npos);
  }
}

TEST_F(ReportCommand, DefinesEveryColumnWhenAsked) {
  const std::string text = call("report --definitions --from " + table(kTable)).out;
  EXPECT_NE(text.find("speedup: S = T(N0)/T(N)"), std::string::npos);
  EXPECT_NE(text.find("scaled form: (N/N0) T(N0)/T(N)"), std::string::npos);
}

TEST_F(ReportCommand, RunsOfTheStoreGiveTheSameTablesWithoutTheirWarmUp) {
  add_run(1, 8);
  add_run(2, 4);
  const auto json = nlohmann::json::parse(call("report --json").out);
  const auto& rows = json["tables"][0]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_DOUBLE_EQ(rows[0]["epoch_time_s"].get<double>(), 8);
  EXPECT_EQ(rows[0]["n"], 2);
  EXPECT_DOUBLE_EQ(rows[1]["speedup"].get<double>(), 2);
  EXPECT_NE(json["tables"][0]["title"].get<std::string>().find("weak scaling"), std::string::npos);
}

TEST_F(ReportCommand, CsvOfAStoreReportsTheSameWhenReadBack) {
  add_run(1, 8);
  add_run(2, 5);
  const std::string file = folder_ + "/out.csv";
  ASSERT_EQ(call("report --csv -o " + file).code, 0);
  EXPECT_GT(import::read_measurements_file(file).rows.size(), 10u);
  // A table has no machine whose link could be calibrated: the speed is given to both.
  EXPECT_EQ(call("report --json --link 2 --from " + file).out, call("report --json --link 2").out);
}

TEST_F(ReportCommand, LeavesOutRunsThatDidNotFinishAndReportsIt) {
  add_run(1, 8);
  add_run(2, 4, "", record::RunStatus::kFailed);
  EXPECT_NE(call("report").err.find("1 run that did not finish is left out"), std::string::npos);
}

TEST_F(ReportCommand, NamesTheStudiesWhenAnotherIsAskedFor) {
  add_run(1, 8, "sweep");
  EXPECT_EQ(call("report sweep").code, 0);
  const CommandOutcome outcome = call("report other");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("studies in this store: sweep"), std::string::npos) << outcome.err;
}

TEST_F(ReportCommand, RefusesABaselineThatWasNotMeasured) {
  const CommandOutcome outcome = call("report --baseline 8 --from " + table(kTable));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("the requested baseline of 8 workers was not measured"),
            std::string::npos);
}

TEST_F(ReportCommand, PointsToTheLineOfABadTable) {
  const CommandOutcome outcome =
      call("report --from " + table("metric,value,unit\nepoch_time,-1,s\n"));
  EXPECT_EQ(outcome.code, 4);
  EXPECT_NE(outcome.err.find("table.csv, line 2: epoch_time is -1"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(call("report --from /no/such.csv").code, 4);
}

TEST_F(ReportCommand, ExplainsHowToReadAFileThatWasTakenForAStudy) {
  const std::string file = table(kTable);
  const CommandOutcome outcome = call("report " + file);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("lockstep report --from " + file), std::string::npos);
}

TEST_F(ReportCommand, AuditNamesFactorAndSlip) {
  const CommandOutcome outcome = call("audit " + table(kTable));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2.56x too low"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("inverted"), std::string::npos);
  const auto json = nlohmann::json::parse(call("audit --json " + table(kTable)).out);
  EXPECT_EQ(json["rows"][0]["line"], 4);
  EXPECT_DOUBLE_EQ(json["rows"][0]["recomputed"].get<double>(), 1.6);
  EXPECT_NE(json["rows"][0]["slip"].get<std::string>().find("inverted"), std::string::npos);
}

TEST_F(ReportCommand, AuditOfATableWithoutReportedFiguresReportsThat) {
  const CommandOutcome outcome = call("audit " + table("metric,value,unit\nepoch_time,1,s\n"));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("no reported_* figures"), std::string::npos);
}

}  // namespace
}  // namespace lockstep::cli
