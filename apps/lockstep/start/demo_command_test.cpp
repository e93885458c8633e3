#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "command_line/command_fixture.h"
#include "lockstep/report/page/assets.h"
#include "start/demo_studies.h"

namespace lockstep::cli {
namespace {

class DemoCommand : public CommandTest {
 protected:
  std::string demo_folder() const { return folder_ + "/demo"; }

  CommandOutcome demo(const std::string& words = "") const {
    return run("demo " + demo_folder() + " " + words, {&add_demo_command});
  }

  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(DemoCommand, WritesAPageWithTheVerdictsOfTheFiveStudies) {
  if (!report::page_assets()) GTEST_SKIP() << "built without Node";
  const CommandOutcome outcome = demo();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(demo_studies().size(), 5u);
  for (const EmbeddedFile& table : demo_studies()) {
    const std::string study = std::filesystem::path(table.path).stem().string();
    EXPECT_NE(outcome.out.find("  " + study + "\n"), std::string::npos) << outcome.out;
  }
  EXPECT_NE(outcome.out.find(demo_folder() + "/index.html"), std::string::npos);
  const std::string page = content(demo_folder() + "/index.html");
  for (const char* model : {"dcgan", "vgg-transfer-fruit", "resnet18-cifar", "steering-cnn"}) {
    EXPECT_NE(page.find(model), std::string::npos) << model;
  }
}

TEST_F(DemoCommand, ChoosesAsAReportOnTheTablesDoes) {
  if (!report::page_assets()) GTEST_SKIP() << "built without Node";
  const auto demo_json = nlohmann::json::parse(demo("--json").out);
  for (const auto& study : demo_json.at("studies")) {
    const std::string table =
        std::string(LOCKSTEP_STUDIES) + "/" + study.at("study").get<std::string>() + ".csv";
    const auto report =
        nlohmann::json::parse(run("report --json --from " + table, {&add_report_command}).out);
    std::vector<std::string> said = study.at("sentences");
    std::erase_if(said, [](const std::string& text) { return text.starts_with("audit:"); });
    ASSERT_EQ(said.size(), report.at("decision").size()) << table;
    for (std::size_t i = 0; i < said.size(); ++i) {
      // Up to the alternatives, which are predicted: the prior of a store is not that of a table.
      const std::string whole = report.at("decision")[i].at("sentence");
      const std::string chosen = whole.substr(0, whole.find(';'));
      EXPECT_NE(said[i].find(chosen), std::string::npos) << said[i] << "\n" << chosen;
    }
  }
}

TEST_F(DemoCommand, CalledAgainAddsNothing) {
  if (!report::page_assets()) GTEST_SKIP() << "built without Node";
  const std::string first = demo().out;
  EXPECT_EQ(demo().out, first);
}

TEST_F(DemoCommand, NamesAFolderThatCannotBeMade) {
  const CommandOutcome outcome = run("demo /dev/null/demo", {&add_demo_command});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("/dev/null/demo"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace lockstep::cli
