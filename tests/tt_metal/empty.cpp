// A kernel that does nothing: its launch leaves only the fixed slots.

#if defined(COMPILE_FOR_BRISC) || defined(COMPILE_FOR_NCRISC)
#include "api/dataflow/dataflow_api.h"
#endif

void kernel_main() {}
