// libstdc++ includes this file for facts about the operating system; there is none.

#pragma once
