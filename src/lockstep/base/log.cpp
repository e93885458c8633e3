#include "lockstep/base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace lockstep {

void set_up_log(const std::string& prefix, bool verbose) {
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("lockstep", sink);
  logger->set_pattern((prefix.empty() ? "" : prefix + " ") + "%^%l%$: %v");
  logger->set_level(verbose ? spdlog::level::debug : spdlog::level::info);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void log_info(const std::string& text) {
  spdlog::info("{}", text);
}

void log_warning(const std::string& text) {
  spdlog::warn("{}", text);
}

}  // namespace lockstep
