#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::record {

/// Specialised for every enum of choices.h: `kWhat` is the enum in a message ("strategy"), and each
/// of `kEntries` has a `value`, its `name` in options, records and reports, and where some entries
/// cannot be chosen, whether it is `offered`.
template <class Enum>
struct ChoiceTable;

template <class Enum>
struct ChoiceName {
  Enum value;
  std::string_view name;
};

/// An enum with a ChoiceTable.
template <class Enum>
concept Choice = requires {
  ChoiceTable<Enum>::kEntries;
};

template <Choice Enum>
constexpr std::string_view name_of(Enum value) {
  for (const auto& entry : ChoiceTable<Enum>::kEntries) {
    if (entry.value == value) return entry.name;
  }
  return "";
}

/// "" when there is none.
template <Choice Enum>
constexpr std::string_view name_of(const std::optional<Enum>& value) {
  return value ? name_of(*value) : std::string_view();
}

/// Nothing for a name that is not in the table.
template <Choice Enum>
constexpr std::optional<Enum> choice_named(std::string_view name) {
  for (const auto& entry : ChoiceTable<Enum>::kEntries) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

/// Whether a user may ask for it. Entries without `offered` all are; the others are only found in
/// records.
template <class Entry>
constexpr bool is_offered(const Entry& entry) {
  if constexpr (requires { entry.offered; }) {
    return entry.offered;
  } else {
    return true;
  }
}

/// The names that a user may give, in the order of the table.
template <Choice Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& entry : ChoiceTable<Enum>::kEntries) {
    if (is_offered(entry)) names.emplace_back(entry.name);
  }
  return names;
}

/// Throws kUsage: `option` has a value that is none of `names`.
[[noreturn]] void refuse_choice(std::string_view option, std::string_view given,
                                const std::vector<std::string>& names);

/// Throws kData: a record has a value that this version does not support.
[[noreturn]] void refuse_recorded_choice(std::string_view what, std::string_view recorded);

/// The value that a user gave to `option` by name. Throws kUsage, listing the valid names.
template <Choice Enum>
Enum parse_choice(std::string_view option, std::string_view given) {
  for (const auto& entry : ChoiceTable<Enum>::kEntries) {
    if (is_offered(entry) && entry.name == given) return entry.value;
  }
  refuse_choice(option, given, names_of<Enum>());
}

/// The value that a record names. Throws kData.
template <Choice Enum>
Enum recorded_choice(std::string_view recorded) {
  if (const auto value = choice_named<Enum>(recorded)) return *value;
  refuse_recorded_choice(ChoiceTable<Enum>::kWhat, recorded);
}

}  // namespace lockstep::record
