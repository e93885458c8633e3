#pragma once

#include <span>
#include <string_view>

#include "lockstep/store/database.h"

namespace lockstep::store {

/// Marks an SQLite file as ours ("LKST"), so that no other program's file is written to.
inline constexpr std::int64_t kApplicationId = 0x4C4B5354;

/// The steps that lead from an empty file to the present schema. Step i turns version i into i + 1;
/// steps are only ever appended.
std::span<const std::string_view> migrations();

/// Brings a store up to date in one transaction, so that it is old or new but nothing between.
/// Several processes may call it at once. Throws kData for a newer store and for an SQLite file of
/// another program, both left as they are.
void migrate(Database& database, std::span<const std::string_view> steps = migrations());

/// Whether the store has the present version; false for an older one. Throws as migrate().
bool is_current(Database& database);

}  // namespace lockstep::store
