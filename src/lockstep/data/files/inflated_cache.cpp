#include "lockstep/data/files/inflated_cache.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lockstep/base/digest.h"
#include "lockstep/base/error.h"
#include "lockstep/base/system/random_bytes.h"

namespace lockstep::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLeastKept = 1 << 20;
constexpr std::uint64_t kMostKept = 1 << 30;

/// Empty where there is no place for it.
fs::path cache_folder() {
  const auto variable = [](const char* name) {
    const char* text = std::getenv(name);
    return fs::path(text == nullptr ? "" : text);
  };
  if (const fs::path cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) {
    return cache / "lockstep" / "data";
  }
  if (const fs::path home = variable("HOME"); home.is_absolute()) {
    return home / ".cache" / "lockstep" / "data";
  }
  return {};
}

/// Where the copy of a source is or would be. Throws filesystem_error if the source is not there.
fs::path place_of(const fs::path& folder, const std::string& source, std::uint64_t size) {
  const auto changed = fs::last_write_time(source).time_since_epoch();
  const std::string text =
      fmt::format("{}\n{}\n{}", fs::canonical(source).string(), fs::file_size(source),
                  std::chrono::duration_cast<std::chrono::nanoseconds>(changed).count());
  return folder / fmt::format("{}-{}", format_digest(digest(std::as_bytes(std::span(text)))), size);
}

}  // namespace

std::optional<MappedFile> find_inflated(const std::string& source, std::uint64_t size) {
  try {
    const fs::path folder = cache_folder();
    if (folder.empty() || size < kLeastKept) return std::nullopt;
    const fs::path place = place_of(folder, source, size);
    if (!fs::exists(place) || fs::file_size(place) != size) return std::nullopt;
    return MappedFile(place.string());
  } catch (const fs::filesystem_error&) {
    return std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void keep_inflated(const std::string& source, std::span<const std::uint8_t> bytes) noexcept {
  try {
    const fs::path folder = cache_folder();
    if (folder.empty() || bytes.size() < kLeastKept || bytes.size() > kMostKept) return;
    fs::create_directories(folder);
    const fs::path place = place_of(folder, source, bytes.size());
    // Written aside and renamed: other ranks keep the same copy at the same time.
    const fs::path aside = place.string() + "." + random_hex(8);
    std::ofstream file(aside, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::error_code failure;
    if (file) fs::rename(aside, place, failure);
    if (!file || failure) fs::remove(aside, failure);
  } catch (const std::exception&) {
  }
}

}  // namespace lockstep::data
