#include "measure/study_plan.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <filesystem>

#include "lockstep/base/error.h"
#include "lockstep/study/plan/plan_file.h"
#include "measure/study_options.h"

namespace lockstep::cli {
namespace {

constexpr std::array<std::string_view, 14> kBesideAPlan{
    "what",     "name",  "dry-run",          "retry-failed", "show-output",
    "launcher", "nodes", "partition",        "account",      "time",
    "gres",     "setup", "workers-per-node", "no-watch"};

void refuse_other_options(const CLI::App& command, const study::StudyRequest& given) {
  if (given.is_foreign()) {
    throw Error(ErrorKind::kUsage, "a plan file and a command after -- cannot be combined",
                "write the command into the plan: command = [...]");
  }
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_single_name();
    if (option->count() == 0 ||
        std::find(kBesideAPlan.begin(), kBesideAPlan.end(), name) != kBesideAPlan.end()) {
      continue;
    }
    throw Error(ErrorKind::kUsage,
                fmt::format("--{} cannot be combined with the plan {}", name, given.what),
                "set it in the plan");
  }
}

study::StudyRequest parse_sweep(const study::PlanFileSweep& sweep) {
  study::StudyRequest request;
  CLI::App parser;
  add_study_options(parser, request);
  // CLI11 takes arguments from the back.
  std::vector<std::string> arguments(sweep.arguments.rbegin(), sweep.arguments.rend());
  try {
    parser.parse(arguments);
  } catch (const CLI::ExtrasError&) {
    const std::vector<std::string> left = parser.remaining();
    const std::string word = left.empty() ? "" : left.front().substr(0, left.front().find('='));
    throw Error(ErrorKind::kUsage, fmt::format("lockstep study: unknown option {}", word),
                "keys of a plan are the long options of lockstep study");
  } catch (const CLI::ParseError& problem) {
    throw Error(ErrorKind::kUsage, problem.what(), "see lockstep study --help");
  }
  request.command = sweep.command;
  return request;
}

}  // namespace

std::vector<study::StudyRequest> read_study_plan(const CLI::App& command,
                                                 const study::StudyRequest& given) {
  refuse_other_options(command, given);
  const study::PlanFile plan = study::read_plan_file(given.what);
  std::string name = given.name.empty() ? plan.name : given.name;
  // A plan grows and shrinks while its author works on it; its file name stays.
  if (name.empty()) name = std::filesystem::path(given.what).stem().string();
  std::vector<study::StudyRequest> parts;
  for (const study::PlanFileSweep& sweep : plan.sweeps) {
    try {
      for (study::StudyRequest& part : study::split_request(parse_sweep(sweep))) {
        part.name = name;
        part.dry_run = given.dry_run;
        part.retry_failed = given.retry_failed;
        if (command.count("--launcher") > 0) part.launcher = given.launcher;
        if (part.is_foreign()) part.watch = part.watch && given.watch;
        if (part.is_foreign()) part.show_output = part.show_output || given.show_output;
        study::complete_study_request(part);
        study::cells_of(study::sweep_of(part));
        parts.push_back(std::move(part));
      }
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}:{}: {}", given.what, sweep.line, error.what()),
                  error.hint());
    }
  }
  return parts;
}

}  // namespace lockstep::cli
