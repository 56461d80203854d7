/*-------------------------------------------------------------------------
 *
 * mem_system.c
 *	  What memory the machine, or the control group, has.
 *
 * /proc/meminfo tells of the machine.  In a container that is not what counts:
 * a control group has a limit, and so may each group around it.  Both versions
 * of their files are read (Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst of Linux).  Pages of files that were not used lately
 * are taken from a group before anything fails, so they count as available.
 *
 * Where there are no such files, sysconf() tells the total and nothing tells
 * what is left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "memory/mem_system.h"

#include "storage/fd.h"

#define FILE_MAX	8192		/* longer files are read in part */
#define FULL_PATH_MAX	(SNII_MEM_ROOT_MAX + 1024)

const char *snii_mem_system_root = "";

/* Files of one version of control groups. */
typedef struct GroupFiles
{
	const char *mount;			/* where groups are folders */
	const char *limit;
	const char *usage;
	const char *inactive;		/* in memory.stat */
} GroupFiles;

static const GroupFiles version1 = {
	"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
	"memory.usage_in_bytes", "total_inactive_file"
};

static const GroupFiles version2 = {
	"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"
};

/* ---------------- reading ---------------- */

/* The beginning of a file, as a string; false if it cannot be read. */
static bool
read_file(const char *path, char *buf)
{
	char		full[FULL_PATH_MAX];
	int			fd;
	ssize_t		n;

	if (snprintf(full, sizeof(full), "%.*s%s", SNII_MEM_ROOT_MAX,
				 snii_mem_system_root, path) >= (int) sizeof(full))
		return false;
	fd = BasicOpenFile(full, O_RDONLY | PG_BINARY);
	if (fd < 0)
		return false;
	n = read(fd, buf, FILE_MAX - 1);
	close(fd);
	if (n < 0)
		return false;
	buf[n] = '\0';
	return true;
}

/* A number at the beginning of a text; unknown if there is none. */
static uint64
parse_number(const char *s)
{
	char	   *end;
	uint64		n;

	while (*s == ' ' || *s == '\t')
		s++;
	/* "max" is no limit */
	if (*s < '0' || *s > '9')
		return SNII_MEM_UNKNOWN;
	errno = 0;
	n = strtoull(s, &end, 10);
	return errno == 0 ? n : SNII_MEM_UNKNOWN;
}

/* The number behind a name that begins a line; unknown if there is none. */
static uint64
field(const char *text, const char *name)
{
	size_t		len = strlen(name);

	for (const char *line = text; line != NULL && *line != '\0';)
	{
		if (strncmp(line, name, len) == 0 &&
			(line[len] == ' ' || line[len] == ':'))
			return parse_number(line + len + 1);
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return SNII_MEM_UNKNOWN;
}

/* A line of /proc/meminfo, in bytes. */
static uint64
meminfo(const char *name)
{
	char		buf[FILE_MAX];
	uint64		kb;

	if (!read_file("/proc/meminfo", buf))
		return SNII_MEM_UNKNOWN;
	kb = field(buf, name);
	return kb > SNII_MEM_UNKNOWN / 1024 ? SNII_MEM_UNKNOWN : kb * 1024;
}

/* ---------------- control groups ---------------- */

/* A file of a group that holds one number. */
static uint64
group_number(const GroupFiles *files, const char *group, const char *name)
{
	char		path[FULL_PATH_MAX];
	char		buf[FILE_MAX];

	if (snprintf(path, sizeof(path), "%s%s/%s", files->mount, group,
				 name) >= (int) sizeof(path) || !read_file(path, buf))
		return SNII_MEM_UNKNOWN;
	return parse_number(buf);
}

/* What a group with a limit has left. */
static uint64
group_available(const GroupFiles *files, const char *group, uint64 limit)
{
	char		path[FULL_PATH_MAX];
	char		buf[FILE_MAX];
	uint64		usage = group_number(files, group, files->usage);
	uint64		inactive = SNII_MEM_UNKNOWN;

	if (usage == SNII_MEM_UNKNOWN)
		return SNII_MEM_UNKNOWN;
	if (snprintf(path, sizeof(path), "%s%s/memory.stat", files->mount,
				 group) < (int) sizeof(path) && read_file(path, buf))
		inactive = field(buf, files->inactive);
	if (inactive != SNII_MEM_UNKNOWN)
		usage -= Min(usage, inactive);
	return limit - Min(limit, usage);
}

/*
 * The least total and rest of a group and those around it; group is cut off
 * from its end.
 */
static void
walk_groups(const GroupFiles *files, char *group, uint64 *total,
			uint64 *available)
{
	for (;;)
	{
		uint64		limit = group_number(files, group, files->limit);
		char	   *slash;

		if (limit != SNII_MEM_UNKNOWN)
		{
			*total = Min(*total, limit);
			if (available != NULL)
				*available = Min(*available,
								 group_available(files, group, limit));
		}
		slash = strrchr(group, '/');
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* Does a list of words with commas between have that one? */
static bool
has_word(const char *list, size_t len, const char *word)
{
	size_t		n = strlen(word);

	for (const char *p = list; p + n <= list + len; p++)
	{
		if (strncmp(p, word, n) == 0 && (p == list || p[-1] == ',') &&
			(p + n == list + len || p[n] == ','))
			return true;
	}
	return false;
}

/*
 * The groups of this process: lines "number:controllers:path", of which
 * version 2 has one without controllers.
 */
static void
all_groups(uint64 *total, uint64 *available)
{
	char		buf[FILE_MAX];
	char	   *next;

	if (!read_file("/proc/self/cgroup", buf))
		return;
	for (char *line = buf; line != NULL && *line != '\0'; line = next)
	{
		char	   *controllers = strchr(line, ':');
		char	   *path;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		path = controllers == NULL ? NULL : strchr(++controllers, ':');
		if (path == NULL)
			continue;
		if (path == controllers)
			walk_groups(&version2, path + 1, total, available);
		else if (has_word(controllers, path - controllers, "memory"))
			walk_groups(&version1, path + 1, total, available);
	}
}

/* ---------------- what is asked for ---------------- */

uint64
snii_mem_system_total(void)
{
	uint64		total = meminfo("MemTotal");

#if defined(_SC_PHYS_PAGES) && defined(_SC_PAGESIZE)
	if (total == SNII_MEM_UNKNOWN)
	{
		long		pages = sysconf(_SC_PHYS_PAGES);
		long		size = sysconf(_SC_PAGESIZE);

		if (pages > 0 && size > 0)
			total = (uint64) pages * (uint64) size;
	}
#endif
	all_groups(&total, NULL);
	return total;
}

uint64
snii_mem_system_available(void)
{
	uint64		total = SNII_MEM_UNKNOWN;
	uint64		available = meminfo("MemAvailable");

	all_groups(&total, &available);
	return available;
}
