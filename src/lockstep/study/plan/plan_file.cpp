#include "lockstep/study/plan/plan_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include "lockstep/base/error.h"

namespace lockstep::study {
namespace {

Error at_line(ErrorKind kind, const std::string& path, const toml::source_region& source,
              const std::string& what, const std::string& hint) {
  return {kind, fmt::format("{}:{}: {}", path, source.begin.line, what), hint};
}

std::string scalar_text(const toml::node& node, const std::string& key, const std::string& path) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  throw at_line(ErrorKind::kUsage, path, node.source(),
                fmt::format("{} is neither text, a number nor a list of these", key),
                "write the value as for the option of lockstep study");
}

std::vector<std::string> words_of(const toml::node& node, const std::string& path) {
  const toml::array* list = node.as_array();
  if (!list || list->empty()) {
    throw at_line(ErrorKind::kUsage, path, node.source(), "command is not a list of words",
                  "for example command = [\"python3\", \"train.py\", \"{workers}\"]");
  }
  std::vector<std::string> words;
  for (const toml::node& entry : *list) words.push_back(scalar_text(entry, "command", path));
  return words;
}

std::string option_text(const toml::node& node, const std::string& key, const std::string& path) {
  const toml::array* list = node.as_array();
  if (!list) return scalar_text(node, key, path);
  std::string joined;
  for (const toml::node& entry : *list) {
    if (!joined.empty()) joined += ',';
    joined += scalar_text(entry, key, path);
  }
  return joined;
}

using Options = std::map<std::string, const toml::node*>;

Options options_of(const toml::table& table, Options options) {
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name != "sweep" && name != "name") options[name] = &node;
  }
  return options;
}

PlanFileSweep sweep_of(const Options& options, std::size_t line, const std::string& path) {
  PlanFileSweep sweep;
  sweep.line = line;
  for (const auto& [key, node] : options) {
    std::string option = "--" + key;
    std::replace(option.begin(), option.end(), '_', '-');
    if (key == "command") {
      sweep.command = words_of(*node, path);
    } else if (key == "recipe") {
      sweep.arguments.push_back(option_text(*node, key, path));
    } else if (const auto* flag = node->as_boolean()) {
      if (flag->get()) sweep.arguments.push_back(option);
    } else {
      sweep.arguments.push_back(option + "=" + option_text(*node, key, path));
    }
  }
  return sweep;
}

}  // namespace

PlanFile parse_plan(const std::string& text, const std::string& path) {
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& problem) {
    throw at_line(ErrorKind::kData, path, problem.source(), std::string(problem.description()),
                  "a plan is a TOML file; see docs/guide/study.md");
  }
  PlanFile plan;
  plan.name = table["name"].value_or("");
  const Options common = options_of(table, {});
  const toml::node* sweeps = table.get("sweep");
  if (!sweeps) {
    plan.sweeps.push_back(sweep_of(common, 1, path));
    return plan;
  }
  const toml::array* list = sweeps->as_array();
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const toml::table* one = (*list)[i].as_table();
    if (!one) break;
    plan.sweeps.push_back(sweep_of(options_of(*one, common), one->source().begin.line, path));
  }
  if (!list || plan.sweeps.size() != list->size()) {
    throw at_line(ErrorKind::kUsage, path, sweeps->source(), "sweep is not a list of tables",
                  "write [[sweep]] above each");
  }
  return plan;
}

PlanFile read_plan_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorKind::kData, fmt::format("cannot read the plan {}", path),
                "give the path of an existing TOML file");
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return parse_plan(text, path);
}

}  // namespace lockstep::study
