/* Characters that a reader does not see as what they are. One table for every place that shows foreign text. */
#ifndef SBX_HIDDEN_H
#define SBX_HIDDEN_H

#include <stdint.h>

/* 1 for controls, line separators, direction marks, what Unicode calls ignorable by default (joiners, variation
 * selectors, fillers, tags: DerivedCoreProperties.txt, Default_Ignorable_Code_Point), and blanks that are no white space
 * (the empty Braille pattern). A model reads all of them, a person sees none. */
int hidden_character(uint32_t code_point);

#endif
