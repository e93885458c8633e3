#include <nlohmann/json.hpp>

#include "cli_test.h"

namespace lockstep {
namespace {

class Doctor : public CliTest {};

TEST_F(Doctor, ReportsOnThisMachineAndAsksTheWorker) {
  const auto captured = run(command({"doctor"}));
  EXPECT_EQ(captured.status.code, 0) << captured.errors;
  for (const char* text : {"cores", "memory", "libtorch  1.13.1, back ends shm gloo", "disk"}) {
    EXPECT_NE(captured.output.find(text), std::string::npos) << text << "\n" << captured.output;
  }
  EXPECT_EQ(captured.output.find('\033'), std::string::npos);
}

TEST_F(Doctor, GivesJsonOnRequest) {
  const auto captured = run(command({"doctor", "--json"}));
  EXPECT_EQ(captured.status.code, 0);
  const auto json = nlohmann::json::parse(captured.output);
  EXPECT_GT(json.at("findings").size(), 5u);
  EXPECT_GE(json.at("machine").at("cores").get<int>(), 1);
}

TEST_F(Doctor, PrintsWarningsAloneOnRequest) {
  const auto captured =
      run(command({"doctor", "--warnings"}, {"LOCKSTEP_WORKER_PROGRAM=/nonexistent/worker"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_NE(captured.output.find("warn  libtorch"), std::string::npos) << captured.output;
  EXPECT_EQ(captured.output.find("ok  "), std::string::npos) << captured.output;
  EXPECT_EQ(captured.output.find("note  "), std::string::npos) << captured.output;
}

TEST_F(Doctor, CopesWithAWorkerThatDoesNotStart) {
  const auto captured = run(command({"doctor"}, {"LOCKSTEP_WORKER_PROGRAM=/nonexistent/worker"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_NE(captured.output.find("/nonexistent/worker"), std::string::npos) << captured.output;
}

TEST_F(Doctor, CopesWithAWorkerThatTalksNonsense) {
  const auto captured = run(command({"doctor"}, {"LOCKSTEP_WORKER_PROGRAM=/bin/echo"}));
  EXPECT_EQ(captured.status.code, 0);
  EXPECT_NE(captured.output.find("unexpected answer"), std::string::npos);
}

}  // namespace
}  // namespace lockstep
