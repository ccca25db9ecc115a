/* gettext's text domain, and the directories to which domains are bound, for each instance. The C library keeps both
 * per process, so its functions are replaced here, as in process.c.
 *
 * Instances that do not use them pay nothing: an exchange compares two pointers. Invariant: the C library has the
 * settings of the loaded instance; a binding that this instance has not set is as it was before any instance set it. */
#include "instance.h"

#include <langinfo.h>
#include <libintl.h>

/* An instance's settings for a domain. In `known`: the original settings, and the current ones. */
typedef struct weft_binding {
	struct weft_binding *next;
	char *domain, *directory, *codeset;
	char *placed_directory, *placed_codeset;
} binding;

static binding *known;
static char *base_domain, *placed_domain;
static weft_messages *active;

static char *real_text_domain(const char *domain)
{
	static char *(*real)(const char *);
	if (UNEXPECTED(!real)) {
		real = (char *(*)(const char *)) weft_real("textdomain");
	}
	return real(domain);
}

static char *real_bind(bool codeset, const char *domain, const char *value)
{
	static char *(*real[2])(const char *, const char *);
	if (UNEXPECTED(!real[codeset])) {
		real[codeset] = (char *(*)(const char *, const char *)) weft_real(codeset ? "bind_textdomain_codeset" : "bindtextdomain");
	}
	return real[codeset](domain, value);
}

static void set(char **text, const char *to)
{
	char *copy = to ? strdup(to) : NULL;
	free(*text);
	*text = copy;
}

static binding *find(binding *list, const char *domain)
{
	while (list && strcmp(list->domain, domain) != 0) {
		list = list->next;
	}
	return list;
}

static binding *found_or_new(binding **list, const char *domain)
{
	binding *one = find(*list, domain);
	if (!one && (one = calloc(1, sizeof(*one)))) {
		set(&one->domain, domain);
		one->next = *list;
		*list = one;
	}
	return one;
}

char *textdomain(const char *domain)
{
	char *result = real_text_domain(domain);
	if (active && domain && result) {
		set(&active->domain, result);
		set(&placed_domain, result);
	}
	return result;
}

static char *bind_one(bool codeset, const char *domain, const char *value)
{
	if (!active || !domain || !*domain || !value) {
		return real_bind(codeset, domain, value);
	}
	if (!find(known, domain)) {
		binding *before = found_or_new(&known, domain);
		if (before) {
			set(&before->directory, real_bind(false, domain, NULL));
			set(&before->codeset, real_bind(true, domain, NULL));
		}
	}
	char *result = real_bind(codeset, domain, value);
	binding *own = found_or_new(&active->bindings, domain), *all = find(known, domain);
	if (own && all && result) {
		set(codeset ? &own->codeset : &own->directory, result);
		set(codeset ? &all->placed_codeset : &all->placed_directory, result);
	}
	return result;
}

char *bindtextdomain(const char *domain, const char *directory)
{
	return bind_one(false, domain, directory);
}

char *bind_textdomain_codeset(const char *domain, const char *codeset)
{
	return bind_one(true, domain, codeset);
}

static bool differ(const char *a, const char *b)
{
	return a != b && (!a || !b || strcmp(a, b) != 0);
}

static void place_binding(binding *all, const binding *own)
{
	const char *directory = own ? own->directory : NULL, *codeset = own ? own->codeset : NULL;
	if (differ(all->placed_directory, directory)) {
		real_bind(false, all->domain, directory ? directory : all->directory);
		set(&all->placed_directory, directory);
	}
	if (differ(all->placed_codeset, codeset)) {
		/* "None" cannot be set again; it means the codeset of the locale. */
		real_bind(true, all->domain, codeset ? codeset : all->codeset ? all->codeset : nl_langinfo(CODESET));
		set(&all->placed_codeset, codeset);
	}
}

/* Called after the locale is set. */
void weft_messages_place(const weft_messages *messages)
{
	if (UNEXPECTED(differ(placed_domain, messages->domain))) {
		real_text_domain(messages->domain ? messages->domain : base_domain);
		set(&placed_domain, messages->domain);
	}
	for (binding *all = known; UNEXPECTED(all != NULL); all = all->next) {
		place_binding(all, find(messages->bindings, all->domain));
	}
}

void weft_messages_start(void)
{
	set(&base_domain, real_text_domain(NULL));
}

void weft_messages_activate(weft_messages *messages)
{
	active = messages;
}

/* The PHP that runs has set nothing. Where there is one, it is the only instance. */
void weft_messages_forget(void)
{
	static weft_messages only;
	if (UNEXPECTED(!active)) {
		weft_messages_start();
		active = &only;
	}
	if (active->domain || active->bindings) {
		weft_messages_free(active);
		memset(active, 0, sizeof(*active));
		weft_messages_place(active);
	}
}

void weft_messages_free(weft_messages *messages)
{
	while (messages->bindings) {
		binding *one = messages->bindings;
		messages->bindings = one->next;
		free(one->domain);
		free(one->directory);
		free(one->codeset);
		free(one);
	}
	free(messages->domain);
}
