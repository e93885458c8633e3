#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli_test.h"
#include "lockstep/serve/test_client.h"

namespace lockstep {
namespace {

/// What the program answers about a study that it ran itself.
class Decision : public CliTest {
 protected:
  std::string output(const std::vector<std::string>& arguments) const {
    const auto captured = run(command(arguments));
    EXPECT_EQ(captured.status.code, 0) << captured.output << captured.errors;
    return captured.output;
  }

  std::string served_page() const {
    auto server = launch::ChildProcess::start(command({"--json", "serve", "--port", "0"}));
    std::string line;
    if (!read_until(server, "\n", line)) return "";
    const int port = nlohmann::json::parse(line).at("port");
    const std::string page = serve::http_get(port, "/api/page");
    server.signal(SIGINT);
    std::optional<launch::ExitStatus> ended;
    EXPECT_TRUE(eventually([&] { return (ended = server.poll()).has_value(); }));
    EXPECT_TRUE(ended && ended->clean());
    return page;
  }
};

TEST_F(Decision, OfAStudyOfACommandIsTheSameInReportAdviseHtmlAndServe) {
  const std::string script = (folder_ / "train.sh").string();
  std::ofstream(script) << "sleep $([ \"$1\" = 1 ] && echo 1 || echo 0.5)\n";
  output({"study", "--workers", "1,2", "--batch", "8", "--name", "real", "--", "sh", script,
          "{workers}", "{batch}"});

  std::istringstream advised(output({"--json", "advise"}));
  std::string line;
  ASSERT_TRUE(std::getline(advised, line));
  const std::string answer = nlohmann::json::parse(line).at("sentence");
  EXPECT_EQ(answer.rfind("Use ", 0), 0u) << answer;
  EXPECT_NE(answer.find("(measured)"), std::string::npos) << answer;

  const auto report = nlohmann::json::parse(output({"--json", "report"}));
  EXPECT_EQ(report.at("decision").at(0).at("sentence"), answer);

  const std::string html = (folder_ / "page.html").string();
  output({"report", "--html", html});
  std::stringstream file;
  file << std::ifstream(html).rdbuf();
  EXPECT_NE(file.str().find(answer), std::string::npos);

  const auto page = nlohmann::json::parse(served_page());
  EXPECT_EQ(page.at("headline"), answer);
}

// A trace of PyTorch's profiler: its step of 1 ms is computation for 0.5 ms, exposed communication
// for 0.2 ms and something else for the rest.
TEST_F(Decision, AnImportedTraceIsSimulatedOnceItsGradientsAreStated) {
  output({"import", KINETO_TRACE});
  const auto unknown = run(command({"simulate", "--run", "1", "--workers", "8"}));
  EXPECT_EQ(unknown.status.code, 4);
  EXPECT_NE(unknown.errors.find("give --gradients"), std::string::npos) << unknown.errors;
  const auto json = nlohmann::json::parse(
      output({"--json", "simulate", "--run", "1", "--gradients", "40MB", "--workers", "8"}));
  EXPECT_NEAR(json.at("points").at(0).at("compute_s").get<double>(), 0.8e-3, 1e-6);
}

}  // namespace
}  // namespace lockstep
