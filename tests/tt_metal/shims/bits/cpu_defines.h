// libstdc++ includes this file for facts about the processor; its defaults are sufficient.

#pragma once
