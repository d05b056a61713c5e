#include "compression/output_parts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "storage/scratch_directory.h"

namespace spillway::compression {
namespace {

// By the clock of the process that kept it, it is newer than what another one has written anew since then.
TEST(OutputParts, that_another_process_has_written_anew_are_its_own_whatever_the_clocks_say) {
  storage::ScratchDirectory folder;
  const std::string path = folder.path() + std::string("/part-00000");
  std::ofstream(path) << "of the other process";
  begin_parts(true, [] { return std::numeric_limits<int>::max(); });
  adopt_parts({{path + ".whole.partial", path, 3, std::numeric_limits<int64_t>::max()}});
  EXPECT_EQ(parts_of_others().size(), 1u);
  for (const auto step : {MPI_D_PUBLISH_LOOK, MPI_D_PUBLISH_BEGIN, MPI_D_PUBLISH_NAME, MPI_D_PUBLISH_END})
    EXPECT_NO_THROW(publish_parts(step));
  EXPECT_TRUE(std::filesystem::remove(path));  // it has stayed
  EXPECT_TRUE(std::filesystem::remove(folder.path() + std::string("/_SUCCESS")));
}

}  // namespace
}  // namespace spillway::compression
