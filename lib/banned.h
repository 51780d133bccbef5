/* Included before every file by the build: functions whose use is always a mistake here. */
#ifndef SBX_BANNED_H
#define SBX_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok strtok_r gets atoi atol atoll system popen
#pragma GCC poison gmtime localtime ctime asctime tmpnam mktemp vfork strncat setenv putenv

#endif
