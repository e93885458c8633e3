#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "command_line/command.h"
#include "lockstep/base/terminal/console.h"
#include "lockstep/base/terminal/terminal.h"
#include "lockstep/base/version.h"
#include "lockstep/doctor/findings.h"
#include "lockstep/doctor/host_facts.h"
#include "lockstep/report/render/text_width.h"

namespace lockstep::cli {
namespace {

std::string as_json(const std::vector<doctor::Finding>& findings, const doctor::HostFacts& facts) {
  nlohmann::json list = nlohmann::json::array();
  for (const doctor::Finding& finding : findings) {
    list.push_back({{"severity", doctor::severity_name(finding.severity)},
                    {"subject", finding.subject},
                    {"text", finding.text},
                    {"advice", finding.advice}});
  }
  nlohmann::json json{{"version", kVersion},
                      {"machine", measure::describe_machine()},
                      {"cpu_flags", facts.cpu.flags},
                      {"findings", list}};
  if (facts.probe) json["blas_gflops"] = facts.probe->blas_gflops;
  if (facts.tuned_probe) json["tuned_blas_gflops"] = facts.tuned_probe->blas_gflops;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string as_text(const std::vector<doctor::Finding>& findings) {
  std::string text;
  for (const doctor::Finding& finding : findings) {
    const std::string first =
        fmt::format("{:<4}  {:<8}  ", doctor::severity_name(finding.severity), finding.subject);
    report::append_wrapped(text, first, finding.text, terminal_width());
    if (finding.advice.empty()) continue;
    report::append_wrapped(text, fmt::format("{:<16}-> ", ""), finding.advice, terminal_width());
  }
  return text;
}

void examine_host(const GlobalOptions& options, bool warnings_only) {
  const SystemClock clock;
  Console console(clock);
  console.set_status("checking this machine ...");
  const doctor::HostFacts facts = doctor::gather_host_facts(options.store_path, clock);
  std::vector<doctor::Finding> findings = doctor::examine(facts);
  if (warnings_only) {
    std::erase_if(findings, [](const doctor::Finding& finding) {
      return finding.severity != doctor::Severity::kWarn;
    });
    if (findings.empty() && !options.json) return;
  }
  console.out(options.json ? as_json(findings, facts) : as_text(findings));
}

}  // namespace

void add_doctor_command(CLI::App& app, const GlobalOptions& options) {
  CLI::App& command = add_command(
      app, "doctor", "Shows what this machine offers and what would distort measurements.",
      {"lockstep doctor", "lockstep doctor --warnings"});
  const auto warnings_only = std::make_shared<bool>(false);
  command.add_flag("--warnings", *warnings_only, "Print only what would distort measurements");
  set_action(command, [&options, warnings_only] { examine_host(options, *warnings_only); });
}

}  // namespace lockstep::cli
