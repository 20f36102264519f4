"""The counts of wrong passwords, in Valkey. Without Valkey people can still log in, and no one is locked out."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache.backends.redis import RedisCache
from redis import RedisError

logger = logging.getLogger(__name__)

T = TypeVar("T")


class LoginCache(RedisCache):
    """Django's cache in Valkey, in which a failure is as an empty cache."""

    def add(self, *args: Any, **kwargs: Any) -> bool:  # Any: as the cache that it extends
        return _try(lambda: super(LoginCache, self).add(*args, **kwargs), True)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _try(lambda: super(LoginCache, self).get(key, default, version), default)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        try:
            return _try(lambda: super(LoginCache, self).incr(key, delta, version), 1)
        except ValueError:  # it expired just now
            return 1

    def touch(self, *args: Any, **kwargs: Any) -> bool:
        return _try(lambda: super(LoginCache, self).touch(*args, **kwargs), False)

    def delete(self, key: str, version: int | None = None) -> bool:
        return _try(lambda: super(LoginCache, self).delete(key, version), False)

    def clear(self) -> None:
        raise NotImplementedError("It would empty all of Valkey, with the queue of tasks in it.")


def _try(ask: Callable[[], T], otherwise: T) -> T:
    try:
        return ask()
    except RedisError as error:
        logger.error("Wrong passwords are not counted: %s.", type(error).__name__)  # noqa: TRY400  # no traceback
        return otherwise
