/* readdir(), rewinddir() and closedir() without a handle use the directory that was opened last.
 *
 * PHP keeps that one per process (dir_globals in ext/standard/dir.c, which nothing exports). Here each coroutine has
 * its own, and PHP's functions always get a handle. */
#include "directories.h"
#include "coroutine.h"
#include "wrap.h"

static zif_handler stock_opendir, stock_dir, stock_close;

typedef struct {
	zif_handler stock;
} reader;

static reader readers[2];

/* The directory that the coroutine has opened last. */
WEFT_SLOT(directories, zend_resource *)

static void let_go(weft_coroutine *coroutine)
{
	zend_resource *handle = *weft_directories_slot(coroutine);
	*weft_directories_slot(coroutine) = NULL;
	if (handle) {
		zend_list_delete(handle);
	}
}

static void opened(const zval *handle)
{
	if (weft_current && weft_isolates && Z_TYPE_P(handle) == IS_RESOURCE) {
		let_go(weft_current);
		*weft_directories_slot(weft_current) = Z_RES_P(handle);
		GC_ADDREF(Z_RES_P(handle));
	}
}

static ZEND_NAMED_FUNCTION(wrapped_opendir)
{
	stock_opendir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	opened(return_value);
}

static ZEND_NAMED_FUNCTION(wrapped_dir)
{
	stock_dir(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (Z_TYPE_P(return_value) == IS_OBJECT) {
		zval none;
		opened(zend_read_property(Z_OBJCE_P(return_value), Z_OBJ_P(return_value), ZEND_STRL("handle"), true, &none));
	}
}

/* Calls the function again with the coroutine's own handle. */
static void with_own(zend_execute_data *execute_data, zval *return_value)
{
	zval handle;
	if (!*weft_directories_slot(weft_current)) {
		zend_type_error("No resource supplied");
		return;
	}
	ZVAL_RES(&handle, *weft_directories_slot(weft_current));
	zend_call_known_function(execute_data->func, NULL, NULL, return_value, 1, &handle, NULL);
}

static bool is_asked_for(const zend_execute_data *execute_data)
{
	bool given = ZEND_NUM_ARGS() > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) != IS_NULL;
	return weft_current && weft_isolates && !given;
}

static ZEND_NAMED_FUNCTION(wrapped_reader)
{
	if (is_asked_for(execute_data)) {
		with_own(execute_data, return_value);
	} else {
		((reader *) weft_wrapped_row(execute_data))->stock(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	}
}

static ZEND_NAMED_FUNCTION(wrapped_close)
{
	if (is_asked_for(execute_data)) {
		with_own(execute_data, return_value);
		return;
	}
	zend_resource *handle = NULL;
	if (ZEND_NUM_ARGS() > 0 && Z_TYPE_P(ZEND_CALL_ARG(execute_data, 1)) == IS_RESOURCE) {
		handle = Z_RES_P(ZEND_CALL_ARG(execute_data, 1));
	}
	stock_close(INTERNAL_FUNCTION_PARAM_PASSTHRU);
	if (weft_current && handle && handle == *weft_directories_slot(weft_current)) {
		let_go(weft_current);
	}
}

/* Called when the modules have started. */
void weft_directories_prepare(void)
{
	static const char *const names[] = {"readdir", "rewinddir"};
	weft_wrap(NULL, "opendir", wrapped_opendir, NULL, &stock_opendir);
	weft_wrap(NULL, "dir", wrapped_dir, NULL, &stock_dir);
	weft_wrap(NULL, "closedir", wrapped_close, NULL, &stock_close);
	for (size_t i = 0; i < 2; i++) {
		weft_wrap(NULL, names[i], wrapped_reader, &readers[i], &readers[i].stock);
	}
}

/* The coroutine's job has ended. */
void weft_directories_end(weft_coroutine *coroutine)
{
	if (UNEXPECTED(*weft_directories_slot(coroutine) != NULL)) {
		let_go(coroutine);
	}
}

void weft_directories_forget(weft_coroutine *coroutine)
{
	*weft_directories_slot(coroutine) = NULL;
}
