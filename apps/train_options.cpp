#include "train_options.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "lockstep/base/error.h"
#include "lockstep/base/units.h"
#include "lockstep/record/train_option_list.h"

namespace lockstep::cli {
namespace {

using record::Range;

/// The last of "-n,--workers": the name that messages and arguments use.
std::string long_name(const std::string& names) {
  return names.substr(names.rfind("--"));
}

template <class T>
std::string number_text(T value) {
  return fmt::format("{}", value);
}

template <class T>
T parse_number(const std::string& name, const std::string& text, const Range<T>& range) {
  T value{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  // A negative number is parsed, so that the error can explain what is wrong with it.
  const bool negative = std::is_unsigned_v<T> && text.starts_with('-');
  if (result.ec == std::errc::result_out_of_range || negative) {
    throw Error(ErrorKind::kUsage, fmt::format("{} {} is out of range", name, text),
                fmt::format("give a number from {} to {}", range.least, range.most));
  }
  if (result.ec != std::errc{} || result.ptr != end) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} '{}' is not a {}", name, text,
                            std::is_integral_v<T> ? "whole number" : "number"),
                fmt::format("give a number, for example {} {}", name, range.least));
  }
  if (range.holds(value)) return value;
  std::string problem = fmt::format("{} {} is not a number", name, text);
  if (value < range.least) problem = fmt::format("{} {} is below {}", name, text, range.least);
  if (value > range.most) problem = fmt::format("{} {} is above {}", name, text, range.most);
  throw Error(ErrorKind::kUsage, problem,
              fmt::format("give a number from {} to {}", range.least, range.most));
}

/// Parses a value in whose place auto may be given, which the hint then names too.
template <class Parse>
auto or_auto(const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), error.hint() + ", or auto");
  }
}

/// The parts between commas.
std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = 0;
  for (std::size_t comma; (comma = text.find(',', at)) != std::string::npos; at = comma + 1) {
    parts.push_back(text.substr(at, comma - at));
  }
  parts.push_back(text.substr(at));
  return parts;
}

/// Adds each option to a parser.
class Binder {
 public:
  Binder(CLI::App& command, std::span<const std::string_view> without)
      : command_(command), without_(without) {}

  void group(const std::string& title) { group_ = title; }

  void recipe(std::string& field) {
    if (is_left_out("RECIPE")) return;
    command_
        .add_option("RECIPE", field,
                    "What to train, for example fashion or cifar-resnet18; an unknown name lists "
                    "all recipes")
        ->capture_default_str();
  }

  template <class T>
  void integer(const std::string& names, T& field, std::type_identity_t<Range<T>> range,
               const std::string& description) {
    number(names, field, range, "N", description);
  }

  template <class T>
  void integer_or_auto(const std::string& names, T& field, std::type_identity_t<Range<T>> range,
                       bool& is_auto, const std::string& description) {
    add(names, "N|auto", description, range.holds(field) ? number_text(field) : "",
        [&field, range, &is_auto, name = long_name(names)](const std::string& given) {
          is_auto = given == "auto";
          if (!is_auto) field = or_auto([&] { return parse_number(name, given, range); });
        });
  }

  void real(const std::string& names, double& field, Range<double> range,
            const std::string& description) {
    number(names, field, range, "X", description);
  }

  void text(const std::string& names, std::string& field, const std::string& type,
            const std::string& description) {
    add(names, type, description, field,
        [&field, name = long_name(names)](const std::string& given) {
          if (given.empty()) throw Error(ErrorKind::kUsage, name + " is empty", "give it a value");
          field = given;
        });
  }

  void data(const std::string& names, record::DataFacts& field, const std::string& description) {
    add(names, "DIR|synthetic", description, field.path,
        [&field, name = long_name(names)](const std::string& given) {
          if (given.empty()) throw Error(ErrorKind::kUsage, name + " is empty", "give a folder");
          field.path = given;
          field.synthetic = given == "synthetic";
        });
  }

  void choice(const std::string& names, std::string& field, const std::vector<std::string>& choices,
              const std::string& description) {
    add(names, fmt::format("{}", fmt::join(choices, "|")), description, field,
        [&field, choices, name = long_name(names)](const std::string& given) {
          if (std::find(choices.begin(), choices.end(), given) == choices.end()) {
            record::refuse_choice(name, given, choices);
          }
          field = given;
        });
  }

  template <record::Choice Enum>
  void choice(const std::string& names, Enum& field, const std::string& description) {
    add_choice<Enum>(names, field, description);
  }
  template <record::Choice Enum>
  void choice(const std::string& names, std::optional<Enum>& field,
              const std::string& description) {
    add_choice<Enum>(names, field, description);
  }

  void pair(const std::string& names, double& first, double& second, Range<double> range,
            const std::string& description) {
    add(names, "X,X", description, "",
        [&first, &second, range, name = long_name(names)](const std::string& given) {
          const auto parts = split(given);
          if (parts.size() != 2) {
            throw Error(ErrorKind::kUsage,
                        fmt::format("{} '{}' is not a pair of numbers", name, given),
                        fmt::format("for example {} 0.9,0.999", name));
          }
          first = parse_number(name, parts[0], range);
          second = parse_number(name, parts[1], range);
        });
  }

  void integers(const std::string& names, std::vector<int>& field, Range<int> range,
                const std::string& description) {
    add(names, "N,N,...", description, "",
        [&field, range, name = long_name(names)](const std::string& given) {
          field.clear();
          for (const std::string& part : split(given)) {
            field.push_back(parse_number(name, part, range));
          }
        });
  }

  void size(const std::string& names, std::uint64_t& field, const std::string& description) {
    add(names, "SIZE", description, "",
        [&field, name = long_name(names)](const std::string& given) {
          field = parse_size(name, given);
        });
  }

  void size_or_auto(const std::string& names, std::uint64_t& field, bool& is_auto,
                    const std::string& description) {
    add(names, "SIZE|auto", description, "",
        [&field, &is_auto, name = long_name(names)](const std::string& given) {
          is_auto = given == "auto";
          if (!is_auto) field = or_auto([&] { return parse_size(name, given); });
        });
  }

  void flag(const std::string& names, bool& field, bool when_given,
            const std::string& description) {
    if (is_left_out(long_name(names))) return;
    command_
        .add_flag_callback(
            names, [&field, when_given] { field = when_given; }, description)
        ->group(group_);
  }

 private:
  static std::uint64_t parse_size(const std::string& name, const std::string& given) {
    const std::uint64_t size = parse_bytes(given, name).count;
    if (size > 0) return size;
    throw Error(ErrorKind::kUsage, fmt::format("{} {} must be larger than 0", name, given),
                fmt::format("for example {} 4MB", name));
  }

  template <record::Choice Enum, class Field>
  void add_choice(const std::string& names, Field& field, const std::string& description) {
    add(names, fmt::format("{}", fmt::join(record::names_of<Enum>(), "|")), description,
        std::string(record::name_of(field)),
        [&field, name = long_name(names)](const std::string& given) {
          field = record::parse_choice<Enum>(name, given);
        });
  }

  template <class T>
  void number(const std::string& names, T& field, Range<T> range, const std::string& type,
              const std::string& description) {
    add(names, type, description, range.holds(field) ? number_text(field) : "",
        [&field, range, name = long_name(names)](const std::string& given) {
          field = parse_number(name, given, range);
        });
  }

  void add(const std::string& names, const std::string& type, const std::string& description,
           const std::string& shown_default, const std::function<void(const std::string&)>& take) {
    if (is_left_out(long_name(names))) return;
    CLI::Option* option = command_.add_option_function<std::string>(names, take, description);
    option->type_name(type)->group(group_);
    if (!shown_default.empty()) option->default_str(shown_default);
  }

  bool is_left_out(std::string_view name) const {
    return std::find(without_.begin(), without_.end(), name) != without_.end();
  }

  CLI::App& command_;
  std::span<const std::string_view> without_;
  std::string group_ = "Options";
};

}  // namespace

void add_train_options(CLI::App& command, record::TrainRequest& request,
                       std::span<const std::string_view> without) {
  Binder binder(command, without);
  record::visit_options(binder, request);
}

}  // namespace lockstep::cli
