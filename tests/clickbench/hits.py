"""The table `hits` of ClickBench, made up: its 105 columns and their types, without nulls, skewed as such data is.

No row is one of the real table's. What a row has follows from its number: users, pages, phrases and counters are ranks
of which low ones are frequent; what belongs to a user (region, telephone, system) is drawn once for each. The rows lie
by counter, day and user, as those of the real table do. DuckDB makes them, and another version of it, whose `hash` may
be another, other rows.
"""

# Values that the queries ask for: they are there.
COUNTER, USER = 62, 435090932899640449
REFERER_HASH, URL_HASH = 3594120000172545465, 2868770270353813622

WORDS = ["новости", "погода", "курс", "видео", "скачать", "бесплатно", "карта", "москва", "купить", "фото", "игры",
         "онлайн", "фильм", "рецепт", "расписание", "работа", "отзывы", "цена", "ремонт", "самара", "weather", "news",
         "google", "mail", "forum", "auto", "mp3", "test drive", "hotel", "tickets", "история", "футбол", "школа"]
HOSTS = ["example.ru", "www.example.com", "google.ru", "www.google.com", "maps.google.co.uk", "news.example.org",
         "auto.example.ru", "kino.example.com", "shop.example.net", "forum.example.ru", "пример.рф", "m.example.ru",
         "images.google.com", "www.travel.example", "wiki.example.org", "www.bank.example"]
MODELS = ["iPad", "iPhone", "iPhone 2", "GT-I9300", "Lumia 920", "N8", "Desire", "Xperia", "1", "A 500", "Nexus 7"]
CHARSETS = ["utf-8", "windows-1251", "koi8-r", "windows"]


def texts(values):
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


class Columns:
    """The columns, each with an expression over `base`, and a number that its values are drawn with."""

    def __init__(self):
        self.all = []

    def add(self, name, type, expression):
        self.all.append((name, type, expression))

    def few(self, name, type, count, zero=0.0, of="i", power=3):
        """Numbers below `count`, low ones frequent; a share `zero` of 0 on top."""
        salt = 100 + len(self.all)
        drawn = f"skewed({of}, {salt}, {count}, {power})"
        self.add(name, type, f"case when u({of}, {salt + 500}) < {zero} then 0 else {drawn} end" if zero else drawn)

    def mostly(self, name, value, share, of="i", salt=0):
        """Texts that are empty but for a share of the rows."""
        self.add(name, "text", f"case when u({of}, {salt or 100 + len(self.all)}) < {share} then {value} else '' end")


def columns():
    c = Columns()
    c.add("WatchID", "bigint", "(drawn(i, 1) >> 1)::bigint")
    c.few("JavaEnable", "smallint", 2, power=0.3)
    c.add("Title", "text", "title")
    c.few("GoodEvent", "smallint", 1)
    c.add("EventTime", "timestamp", "timestamp '2013-07-01' + to_seconds(second)")
    c.add("EventDate", "date", "(timestamp '2013-07-01' + to_seconds(second))::date")
    c.add("CounterID", "integer", f"case counter when 5 then {COUNTER} else counter * 41 + 3 end")
    c.add("ClientIP", "integer", "(drawn(person, 2) >> 32)::bigint - 2147483648")
    c.few("RegionID", "integer", 9000, of="person", power=5)
    c.add("UserID", "bigint", f"case person when 3 then {USER} else (drawn(person, 3) >> 1)::bigint end")
    c.few("CounterClass", "smallint", 3)
    c.few("OS", "smallint", 90, of="person")
    c.few("UserAgent", "smallint", 80, of="person")
    c.add("URL", "text", "url")
    c.add("Referer", "text", "referer")
    c.few("IsRefresh", "smallint", 2, zero=0.7)
    c.few("RefererCategoryID", "smallint", 18000, zero=0.6)
    c.few("RefererRegionID", "integer", 9000, zero=0.3)
    c.few("URLCategoryID", "smallint", 18000, zero=0.5)
    c.few("URLRegionID", "integer", 9000, zero=0.3)
    c.few("ResolutionWidth", "smallint", 2560, of="person", power=0.5)
    c.few("ResolutionHeight", "smallint", 1600, of="person", power=0.5)
    c.few("ResolutionDepth", "smallint", 33, of="person", power=0.1)
    c.few("FlashMajor", "smallint", 12, of="person", power=0.2)
    c.few("FlashMinor", "smallint", 4)
    c.mostly("FlashMinor2", "(skewed(i, 99, 300, 3))::text", 0.8)
    c.few("NetMajor", "smallint", 5, zero=0.8)
    c.few("NetMinor", "smallint", 6, zero=0.8)
    c.few("UserAgentMajor", "smallint", 50, of="person")
    c.mostly("UserAgentMinor", "'D' || chr(33 + (drawn(person, 4) % 90)::int)", 0.9, of="person")
    c.few("CookieEnable", "smallint", 2, power=0.02)
    c.few("JavascriptEnable", "smallint", 2, power=0.02)
    c.few("IsMobile", "smallint", 2, of="person", zero=0.85)
    c.few("MobilePhone", "smallint", 90, of="person", zero=0.9)
    c.mostly("MobilePhoneModel", f"{texts(MODELS)}[1 + skewed(person, 5, {len(MODELS)}, 2)]", 0.06, of="person")
    c.mostly("Params", "'p=' || i % 1000", 0.01)
    c.few("IPNetworkID", "integer", 4_000_000, of="person")
    c.add("TraficSourceID", "smallint", "skewed(i, 6, 11, 2) - 1")
    c.few("SearchEngineID", "smallint", 80, zero=0.85, of="phrase_at")
    c.add("SearchPhrase", "text", "phrase")
    c.few("AdvEngineID", "smallint", 60, zero=0.99)
    c.few("IsArtifical", "smallint", 2, zero=0.97)
    c.few("WindowClientWidth", "smallint", 2000, power=0.5)
    c.few("WindowClientHeight", "smallint", 1100, power=0.5)
    c.few("ClientTimeZone", "smallint", 700, of="person", power=2)
    c.add("ClientEventTime", "timestamp", "timestamp '2013-07-01' + to_seconds(second + (drawn(i, 7) % 600)::bigint)")
    c.few("SilverlightVersion1", "smallint", 6, zero=0.6, of="person")
    c.few("SilverlightVersion2", "smallint", 2, zero=0.7, of="person")
    c.few("SilverlightVersion3", "integer", 60_000, zero=0.6, of="person")
    c.few("SilverlightVersion4", "smallint", 2, zero=0.99)
    c.add("PageCharset", "text", f"{texts(CHARSETS)}[1 + skewed(counter, 8, {len(CHARSETS)}, 2)]")
    c.few("CodeVersion", "integer", 2000, power=1, of="counter")
    c.few("IsLink", "smallint", 2, zero=0.6)
    c.few("IsDownload", "smallint", 2, zero=0.98)
    c.few("IsNotBounce", "smallint", 2, zero=0.5)
    c.add("FUniqID", "bigint", "(drawn(person, 9) >> 1)::bigint")
    c.mostly("OriginalURL", "url || '#orig'", 0.05)
    c.add("HID", "integer", "(drawn(i, 10) >> 33)::bigint")
    c.few("IsOldCounter", "smallint", 1)
    c.few("IsEvent", "smallint", 2, zero=0.9)
    c.few("IsParameter", "smallint", 1)
    c.few("DontCountHits", "smallint", 2, zero=0.8)
    c.few("WithHash", "smallint", 2, zero=0.9)
    c.add("HitColor", "char", "chr(65 + skewed(i, 11, 6, 3)::int)")
    c.add("LocalEventTime", "timestamp", "timestamp '2013-07-01' + to_seconds(second + 3600 * (person % 12))")
    c.few("Age", "smallint", 60, of="person", zero=0.4)
    c.few("Sex", "smallint", 3, of="person")
    c.few("Income", "smallint", 4, of="person")
    c.few("Interests", "smallint", 30_000, of="person")
    c.few("Robotness", "smallint", 30, zero=0.95)
    c.add("RemoteIP", "integer", "(drawn(person, 12) >> 32)::bigint - 2147483648")
    c.few("WindowName", "integer", 10_000, zero=0.3)
    c.few("OpenerName", "integer", 10_000, zero=0.9)
    c.few("HistoryLength", "smallint", 60)
    c.add("BrowserLanguage", "text", "['ru', 'en', 'uk', 'S0'][1 + skewed(person, 13, 4, 3)]")
    c.add("BrowserCountry", "text", "['RU', 'UA', 'KZ', 'BY', 'US', 'nA'][1 + skewed(person, 14, 6, 3)]")
    c.mostly("SocialNetwork", "'net' || i % 5", 0.002)
    c.mostly("SocialAction", "'like'", 0.002)
    c.few("HTTPError", "smallint", 3, zero=0.99)
    for name in ["SendTiming", "DNSTiming", "ConnectTiming", "ResponseStartTiming", "ResponseEndTiming", "FetchTiming"]:
        c.few(name, "integer", 60_000, zero=0.4, power=6)
    c.few("SocialSourceNetworkID", "smallint", 5, zero=0.97)
    c.mostly("SocialSourcePage", "url", 0.01)
    c.few("ParamPrice", "bigint", 1_000_000, zero=0.995)
    c.mostly("ParamOrderID", "'order ' || i", 0.001)
    c.mostly("ParamCurrency", "'NH'", 0.99)
    c.few("ParamCurrencyID", "smallint", 2, zero=0.99)
    c.mostly("OpenstatServiceName", "'direct'", 0.02)
    c.mostly("OpenstatCampaignID", "(i % 500)::text", 0.02)
    c.mostly("OpenstatAdID", "(i % 5000)::text", 0.02)
    c.mostly("OpenstatSourceID", "'src' || i % 7", 0.02)
    c.mostly("UTMSource", "'source ' || i % 30", 0.03)
    c.mostly("UTMMedium", "'cpc'", 0.03)
    c.mostly("UTMCampaign", "'campaign ' || i % 400", 0.03)
    c.mostly("UTMContent", "'content ' || i % 900", 0.02)
    c.mostly("UTMTerm", "phrase", 0.02)
    c.mostly("FromTag", "'tag' || i % 10", 0.01)
    c.few("HasGCLID", "smallint", 2, zero=0.98)
    c.add("RefererHash", "bigint", f"case ref when 2 then {REFERER_HASH} else (hash(referer) >> 1)::bigint end")
    c.add("URLHash", "bigint", f"case page when 2 then {URL_HASH} else (hash(url) >> 1)::bigint end")
    c.few("CLID", "integer", 10_000, zero=0.98)
    return c.all


MACROS = """
create or replace temp macro drawn(of_what, salt) as hash(of_what::bigint * 1000 + salt);
create or replace temp macro u(of_what, salt) as drawn(of_what, salt)::double / 18446744073709551616.0;
create or replace temp macro skewed(of_what, salt, count, power) as
    floor(count * pow(u(of_what, salt), power))::bigint;
create or replace temp macro word(rank) as {words}[1 + (rank % {word_count})::int];
create or replace temp macro host(rank) as {hosts}[1 + (drawn(rank, 20) % {host_count})::int];
create or replace temp macro address(rank) as
    case when rank % 7 = 1 then 'https://' else 'http://' end || host(rank) || '/' || word(rank + rank // 33)
    || '/' || rank || case rank % 5 when 0 then '' when 1 then '.html' when 2 then '?q=' || word(rank // 2)
    else '?id=' || rank || '&from=' || repeat(word(rank // 3), (rank % 4)::int) || '#top' end;
"""

BASE = """
with ranks as (
    select i, skewed(i, 21, 6500, 4) as counter, skewed(i, 22, {users}, 3) as person,
        (drawn(i, 23) % 31)::bigint * 86400 + (drawn(i, 24) % 86400)::bigint as second,
        skewed(i, 25, {pages}, 4) as page, skewed(i, 26, {pages}, 4) as ref, skewed(i, 27, {titles}, 4) as title_rank,
        case when u(i, 28) < 0.13 then skewed(i, 29, {phrases}, 3) end as phrase_rank
    from range({rows}) as r(i)),
base as (
    select *, coalesce(phrase_rank, -1) as phrase_at,
        case when page % 997 = 996 then '' else address(page) end as url,
        case when u(i, 30) < 0.2 then '' else address(ref) end as referer,
        case when title_rank % 31 = 30 then '' else word(title_rank) || ' ' || word(title_rank // 33)
            || case title_rank % 11 when 7 then ' - Google' else '' end || ' ' || title_rank end as title,
        case when phrase_rank is null then '' else word(phrase_rank) || ' ' || word(phrase_rank // 33)
            || case when phrase_rank % 3 = 0 then '' else ' ' || phrase_rank end end as phrase
    from ranks)
select {columns} from base order by CounterID, EventDate, UserID, EventTime, WatchID
"""


def table(storage=None):
    """The statement that makes the table; `storage` is for ours only."""
    names = ", ".join(f"{name} {type} not null" for name, type, _ in columns())
    return f"create table hits ({names})" + (f" with (storage = {storage})" if storage else "")


def make(con, rows, file):
    """Writes the rows as Parquet."""
    for statement in MACROS.format(words=texts(WORDS), word_count=len(WORDS), hosts=texts(HOSTS),
                                   host_count=len(HOSTS)).split(";"):
        con.execute(statement) if statement.strip() else None
    stored = {"char": "text"}
    typed = ", ".join(f"cast({what} as {stored.get(type, type)}) as {name}" for name, type, what in columns())
    query = BASE.format(rows=rows, columns=typed, users=max(rows // 6, 20), pages=max(rows // 5, 20),
                        titles=max(rows // 10, 20), phrases=max(rows // 50, 20))
    con.execute(f"copy ({query}) to '{file}' (format parquet)")
