/*-------------------------------------------------------------------------
 *
 * text_analyzer.h
 *	  Text in, tokens with positions and byte offsets out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_TEXT_ANALYZER_H
#define SNII_TEXT_ANALYZER_H

/* Identifiers as stored on disk: never renumber. */
#define SNII_ANALYZER_STANDARD		1
#define SNII_ANALYZER_WHITESPACE	2
#define SNII_ANALYZER_KEYWORD		3

typedef struct SniiAnalyzer SniiAnalyzer;

/*
 * Receives one token.  bytes: the normalised token, valid only during the
 * call and not NUL-terminated; position: 0-based and consecutive; start and
 * end: byte offsets in the original text, in the database encoding.  The sink
 * may raise an error; it must not call snii_text_analyze() itself.
 */
typedef void (*SniiTokenSink) (void *arg, const char *bytes, uint32 len,
							   uint32 position, uint32 start, uint32 end);

extern const SniiAnalyzer *snii_text_analyzer_by_name(const char *name);
extern const SniiAnalyzer *snii_text_analyzer_by_id(int id);
extern int	snii_text_analyzer_id(const SniiAnalyzer *analyzer);
extern const char *snii_text_analyzer_name(const SniiAnalyzer *analyzer);
extern const char *snii_text_analyzer_names(void);
extern uint32 snii_text_analyze(const SniiAnalyzer *analyzer,
								const char *input, size_t len,
								SniiTokenSink sink, void *arg);
extern const char *snii_text_unicode_version(void);

#endif							/* SNII_TEXT_ANALYZER_H */
