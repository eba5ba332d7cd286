"""Operations on the warehouse file: purge, publish, export, health."""
