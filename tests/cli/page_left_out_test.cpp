#include <nlohmann/json.hpp>

#include "cli_test.h"

namespace lockstep {
namespace {

/// The program as a build without Node makes it.
class PageLeftOut : public CliTest {
 protected:
  launch::CapturedOutput call(const std::vector<std::string>& arguments) const {
    launch::ProcessSpec spec = command(arguments);
    spec.program = PROGRAM_WITHOUT_PAGE;
    return run(spec);
  }

  std::string table() const {
    const std::string path = (folder_ / "table.csv").string();
    std::ofstream(path) << "model,workers,global_batch,metric,value,unit\n"
                           "net,1,32,epoch_time,40,s\nnet,2,32,epoch_time,25,s\n";
    return path;
  }
};

TEST_F(PageLeftOut, WhatNeedsThePageReportsInOneSentenceThatItIsNotThereAndHowToGetIt) {
  const std::vector<std::vector<std::string>> calls{
      {"report", "--from", table(), "--html", (folder_ / "page.html").string()},
      {"serve", "--port", "0"}};
  for (const auto& words : calls) {
    const auto captured = call(words);
    EXPECT_EQ(captured.status.code, 3) << words.front();
    EXPECT_EQ(captured.output, "") << words.front();
    EXPECT_TRUE(
        captured.errors.starts_with("error: this lockstep was built without the page\n"
                                    "hint: install nodejs and npm"))
        << captured.errors;
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "page.html"));
}

TEST_F(PageLeftOut, AllElseWorks) {
  EXPECT_EQ(call({"--version"}).status.code, 0);
  EXPECT_EQ(call({"import", table()}).status.code, 0);
  EXPECT_EQ(call({"runs"}).status.code, 0);
  const auto report = call({"report", "--json"});
  EXPECT_EQ(report.status.code, 0) << report.errors;
  EXPECT_FALSE(nlohmann::json::parse(report.output)["verdict"].empty());
  EXPECT_EQ(call({"predict", "--from", table(), "--workers", "4"}).status.code, 0);
}

}  // namespace
}  // namespace lockstep
