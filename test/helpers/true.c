/* true: the smallest step. */
int main(void)
{
	return 0;
}
