#include "lockstep/record/train_arguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>
#include <utility>

#include "lockstep/record/train_option_list.h"

namespace lockstep::record {
namespace {

/// The last of "-n,--workers": the name that arguments use.
std::string argument_name(const std::string& names) {
  return names.substr(names.rfind("--"));
}

/// Writes each option that is set as "--name=value", a form that takes values of any look.
class Writer {
 public:
  std::vector<std::string> take() { return std::move(arguments_); }

  void group(const std::string&) {}
  void recipe(const std::string& field) { arguments_.push_back(field); }

  template <class T>
  void integer(const std::string& names, const T& field, std::type_identity_t<Range<T>> range,
               const std::string&) {
    if (range.holds(field)) put(names, fmt::format("{}", field));
  }
  template <class T>
  void integer_or_auto(const std::string& names, const T& field,
                       std::type_identity_t<Range<T>> range, bool is_auto,
                       const std::string& description) {
    if (is_auto) {
      put(names, "auto");
    } else {
      integer(names, field, range, description);
    }
  }
  void real(const std::string& names, double field, Range<double> range, const std::string&) {
    if (range.holds(field)) put(names, fmt::format("{}", field));
  }
  void text(const std::string& names, const std::string& field, const std::string&,
            const std::string&) {
    if (!field.empty()) put(names, field);
  }
  void data(const std::string& names, const DataFacts& field, const std::string&) {
    if (!field.path.empty()) put(names, field.path);
  }
  void choice(const std::string& names, const std::string& field, const std::vector<std::string>&,
              const std::string&) {
    if (!field.empty()) put(names, field);
  }
  template <class Field>
  void choice(const std::string& names, const Field& field, const std::string&) {
    const std::string name(name_of(field));
    if (!name.empty()) put(names, name);
  }
  void pair(const std::string& names, double first, double second, Range<double> range,
            const std::string&) {
    if (range.holds(first)) put(names, fmt::format("{},{}", first, second));
  }
  void integers(const std::string& names, const std::vector<int>& field, Range<int>,
                const std::string&) {
    if (!field.empty()) put(names, fmt::format("{}", fmt::join(field, ",")));
  }
  void size(const std::string& names, std::uint64_t field, const std::string&) {
    if (field > 0) put(names, fmt::format("{}", field));
  }
  void size_or_auto(const std::string& names, std::uint64_t field, bool is_auto,
                    const std::string& description) {
    if (is_auto) {
      put(names, "auto");
    } else {
      size(names, field, description);
    }
  }
  void flag(const std::string& names, bool field, bool when_given, const std::string&) {
    if (field == when_given) arguments_.push_back(argument_name(names));
  }

 private:
  void put(const std::string& names, const std::string& value) {
    arguments_.push_back(argument_name(names) + "=" + value);
  }

  std::vector<std::string> arguments_;
};

}  // namespace

std::vector<std::string> train_arguments(const TrainRequest& request) {
  Writer writer;
  visit_options(writer, request);
  return writer.take();
}

}  // namespace lockstep::record
